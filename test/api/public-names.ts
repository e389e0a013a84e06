import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';

export const root = fileURLToPath(new URL('../..', import.meta.url));

type Statement = ReturnType<typeof parseSync>['program']['body'][number];
type Exported = NonNullable<Extract<Statement, { type: 'ExportNamedDeclaration' }>['declaration']>;
/** Of nodes, those that can have a type: one interface of the parser stands for several. */
export type Node<Of extends { readonly type: string }, Type extends string> = Of extends unknown
  ? Extract<Of['type'], Type> extends never
    ? never
    : Of
  : never;
export type Declared = Node<
  Exported,
  | 'FunctionDeclaration'
  | 'ClassDeclaration'
  | 'VariableDeclaration'
  | 'TSInterfaceDeclaration'
  | 'TSTypeAliasDeclaration'
>;
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One declaration of a name; a function with overloads has several. */
export interface Part {
  readonly node: Declared;
  /** its text between `/**` and the end, without stars; empty without a comment */
  readonly doc: string;
}
export interface Declaration {
  readonly file: SourceFile;
  readonly name: string;
  readonly parts: readonly Part[];
}

const KINDS: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'TSDeclareFunction',
  'ClassDeclaration',
  'VariableDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
]);

function isDeclared(node: Statement | Exported): node is Declared {
  return KINDS.has(node.type);
}

/** A module of the source: what it declares, imports and exports. */
export class SourceFile {
  static readonly #files = new Map<string, SourceFile>();
  static of(path: string): SourceFile {
    const file = this.#files.get(path) ?? new SourceFile(path);
    this.#files.set(path, file);
    return file;
  }

  readonly #text: string;
  readonly #comments: readonly { readonly value: string; readonly start: number; readonly end: number }[];
  readonly #declared = new Map<string, Part[]>();
  /** name here → where it is from, and its name there */
  readonly #imported = new Map<string, { readonly from: string; readonly name: string }>();
  readonly #exported = new Map<string, { readonly from: string | null; readonly name: string }>();
  /** the comment with `@module` */
  readonly doc: string;

  readonly path: string;

  private constructor(path: string) {
    this.path = path;
    this.#text = readFileSync(join(root, path), 'utf8');
    const { program, comments, errors } = parseSync(path, this.#text);
    if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
    this.#comments = comments.filter(({ type, value }) => type === 'Block' && value.startsWith('*'));
    this.doc = clean(this.#comments.find(({ value }) => value.includes('@module'))?.value ?? '');
    for (const statement of program.body) this.#read(statement);
  }

  #read(statement: Statement): void {
    if (statement.type === 'ImportDeclaration') {
      for (const each of statement.specifiers) {
        if (each.type !== 'ImportSpecifier') continue;
        this.#imported.set(each.local.name, { from: statement.source.value, name: nameOf(each.imported) });
      }
    } else if (statement.type === 'ExportNamedDeclaration') {
      if (statement.declaration !== null && isDeclared(statement.declaration)) {
        for (const name of this.#declare(statement.declaration, statement.start)) {
          this.#exported.set(name, { from: null, name });
        }
      }
      for (const { local, exported } of statement.specifiers) {
        this.#exported.set(nameOf(exported), { from: statement.source?.value ?? null, name: nameOf(local) });
      }
    } else if (isDeclared(statement)) {
      this.#declare(statement, statement.start);
    }
  }

  #declare(node: Declared, start: number): string[] {
    const ids = node.type === 'VariableDeclaration' ? node.declarations.map(({ id }) => id) : [node.id];
    const names = ids.flatMap((id) => (id?.type === 'Identifier' ? [id.name] : []));
    for (const name of names) {
      this.#declared.set(name, [...(this.#declared.get(name) ?? []), { node, doc: this.docBefore(start) }]);
    }
    return names;
  }

  /** What this module exports, in its order. */
  exports(): ReadonlyMap<string, Declaration> {
    const all = [...this.#exported].map(([as, { from, name }]) => {
      const found = from === null ? this.find(name) : this.#module(from)?.exports().get(name);
      if (found === undefined) throw new Error(`${this.path} exports ${as}, which is not in ${from ?? 'it'}`);
      return [as, found] as const;
    });
    return new Map(all);
  }

  /** The declaration behind a name that this module uses; nothing for a name of another package. */
  find(name: string): Declaration | undefined {
    const parts = this.#declared.get(name);
    if (parts !== undefined) {
      const overloads = parts.filter(({ node }) => node.type === 'TSDeclareFunction');
      return { file: this, name, parts: overloads.length > 0 ? overloads : parts };
    }
    const imported = this.#imported.get(name);
    return imported && this.#module(imported.from)?.exports().get(imported.name);
  }

  #module(from: string): SourceFile | undefined {
    return from.startsWith('.') ? SourceFile.of(join(dirname(this.path), from)) : undefined;
  }

  /** Of a constant: the texts in its list, or the keys of its object. */
  namesIn(constant: string): string[] {
    const found = this.find(constant);
    const [part] = found?.parts ?? [];
    if (found === undefined || part?.node.type !== 'VariableDeclaration') return [];
    let value = part.node.declarations[0]?.init;
    while (value?.type === 'TSAsExpression' || value?.type === 'TSSatisfiesExpression') value = value.expression;
    if (value?.type === 'ArrayExpression') {
      return value.elements.flatMap((each) => {
        if (each?.type === 'SpreadElement') return found.file.namesIn(found.file.textOf(each.argument));
        return each?.type === 'Literal' ? [String(each.value)] : [];
      });
    }
    if (value?.type !== 'ObjectExpression') return [];
    return value.properties.flatMap((each) => {
      return each.type === 'Property' ? [found.file.textOf(each.key).replaceAll("'", '')] : [];
    });
  }

  textOf({ start, end }: Span): string {
    return this.#text.slice(start, end);
  }

  /** The TSDoc right before a position; a line for the linter may come between. */
  docBefore(start: number): string {
    const comment = this.#comments.findLast(({ end }) => end <= start);
    const isRight =
      comment !== undefined &&
      this.#text
        .slice(comment.end, start)
        .replaceAll(/^ *\/\/.*$/gm, '')
        .trim() === '';
    return isRight && !comment.value.includes('@module') ? clean(comment.value) : '';
  }
}

function nameOf(node: { readonly type: string; readonly name?: string; readonly value?: unknown }): string {
  return node.name ?? String(node.value);
}

function clean(comment: string): string {
  const lines = comment.replace(/^\*/, '').split('\n');
  return lines
    .map((line) => line.replace(/^\s*\*? ?/, '').trimEnd())
    .join('\n')
    .trim();
}

/** The entries of package.json that have names, with their source. */
export function entries(): ReadonlyMap<string, SourceFile> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { readonly types: string }>;
  };
  const all = Object.entries(exports).flatMap(([entry, target]) => {
    if (typeof target === 'string' || entry === './sqlite/thread') return [];
    const plain = target.types.replace('./dist/', '').replace('.d.ts', '.ts');
    const path = existsSync(join(root, plain)) ? plain : plain.replace('.ts', '.tsx');
    return [[entry.replace('.', 'hookbox'), SourceFile.of(path)] as const];
  });
  return new Map(all);
}
