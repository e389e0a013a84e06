import { idsIn } from './search-words.ts';

const ERASED = '(erased)';

/** Names that nothing may say any more, and the texts without them. */
export class ErasedNames {
  readonly #words = new Set<string>();
  #entities: RegExp | null = null;
  readonly #escaped = new Set<string>();

  /** The id of an event: hidden where it stands alone, or as a word of a sentence. */
  addId(id: string): void {
    this.#words.add(id);
  }

  /** The name of an entity, or the id in it: hidden wherever it is no part of a longer name. */
  addEntity(name: string): void {
    if (name === '' || this.#words.has(name)) return;
    this.#words.add(name);
    this.#escaped.add(name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`));
    this.#entities = null;
  }

  /** What goes with an event that is about an entity. */
  addNamesOf(event: { readonly id: string; readonly entity: string | null }, entity: string): void {
    this.addId(event.id);
    const { entity: name } = event;
    if (name === null) return;
    this.addEntity(name);
    // An order's or a cart's id is a name for it; a product's is one for all of its locations, too.
    const [only, ...others] = idsIn(name);
    if (only !== undefined && others.length === 0 && (name === entity || only === entity)) this.addEntity(only);
  }

  hideIn(text: string): string {
    if (this.#words.has(text)) return ERASED;
    this.#entities ??= new RegExp(`(?<![${NAME}])(?:${[...this.#escaped].join('|')})(?![${NAME}])`, 'gu');
    return text
      .replaceAll(this.#entities, ERASED)
      .replaceAll(/[^\s,;()"'[\]{}]+?(?=[.:!?]*(?:[\s,;()"'[\]{}]|$))/g, (word) =>
        this.#words.has(word) ? ERASED : word,
      );
  }

  /** Why somebody has acted. */
  hideInReason(reason: string | null): string | null {
    return reason === null ? null : this.hideIn(reason);
  }

  /** A value of JSON with all of its texts hidden. */
  hideInAll(value: unknown): unknown {
    if (typeof value === 'string') return this.hideIn(value);
    if (Array.isArray(value)) return value.map((item) => this.hideInAll(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, this.hideInAll(item)]));
  }
}

/** What goes on with a name. */
const NAME = String.raw`\p{L}\p{N}_-`;
