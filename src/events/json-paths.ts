import { type JsonTokens, unquoted } from './json.ts';

/** A name as `.name`, an item of a list as `[3]`, any item as `[]`. */
export type Step = string;

const PART = /^([^.[\]]*)((?:\[\d*\])*)$/;

/** The steps of a path such as `data.items[].name`; empty if it cannot be read. */
export function stepsOf(path: string): readonly Step[] {
  const steps: Step[] = [];
  for (const part of path.split('.')) {
    const [, name, places = ''] = PART.exec(part) ?? [];
    if (name === undefined || name === '') return [];
    steps.push(`.${name}`, ...(places.replaceAll(/\[0+(?=\d)/g, '[').match(/\[\d*\]/g) ?? []));
  }
  return steps;
}

export interface Branch {
  isEnd: boolean;
  readonly next: Map<Step, Branch>;
}

/** `[3]` is one item of a list; a path without brackets also matches inside lists. */
export function treeOf(paths: readonly (readonly Step[])[]): Branch {
  const root: Branch = { isEnd: false, next: new Map() };
  for (const steps of paths) {
    let branch = root;
    for (const step of steps) {
      const next: Branch = branch.next.get(step) ?? { isEnd: false, next: new Map() };
      branch.next.set(step, next);
      branch = next;
    }
    branch.isEnd = true;
  }
  return root;
}

interface Level {
  readonly branches: readonly Branch[];
  readonly isList: boolean;
  place: number;
  name: string;
}

/** Follows paths through a valid JSON text. */
export class PathWalk {
  readonly #root: Branch;
  readonly #levels: Level[] = [];
  #branches: readonly Branch[] = [];

  constructor(root: Branch) {
    this.#root = root;
  }

  /** The place of a value: at the end of a path, before it, or on none. `null` for a name or a closing bracket. */
  at(tokens: JsonTokens): 'end' | 'before' | 'aside' | null {
    const { kind } = tokens;
    const level = this.#levels.at(-1);
    if (kind === '}' || kind === ']') {
      this.#levels.pop();
      return null;
    }
    if (kind === 'name') {
      if (level !== undefined) level.name = unquoted(tokens.written());
      return null;
    }
    this.#branches = level === undefined ? [this.#root] : following(level);
    if (this.#branches.some(({ isEnd }) => isEnd)) return 'end';
    return this.#branches.length > 0 ? 'before' : 'aside';
  }

  /** Call it for each object or list that `leave` does not skip. */
  enter({ kind }: JsonTokens): void {
    this.#levels.push({ branches: this.#branches, isList: kind === '[', place: 0, name: '' });
  }
}

/** Follows each branch once, although lists in lists lead to it in several ways. */
function following(level: Level): readonly Branch[] {
  if (!level.isList) return level.branches.flatMap(({ next }) => next.get(`.${level.name}`) ?? []);
  const place = `[${level.place}]`;
  level.place += 1;
  const found = new Set(level.branches);
  for (const { next } of level.branches) {
    for (const step of ['[]', place]) {
      const branch = next.get(step);
      if (branch !== undefined) found.add(branch);
    }
  }
  return [...found];
}
