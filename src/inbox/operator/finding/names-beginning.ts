import type { FoundName } from '../search.ts';
import type { SearchTables } from './candidates.ts';

const KINDS: readonly FoundName['what'][] = ['id', 'entity', 'merchant'];
/** So often an index is read at most: each letter has two cases, but few names have both. */
const MOST_READS = 400;
/** Names that begin with a longer text are not looked for in other cases. */
const LONGEST = 255;

/** Names of each kind that begin with a text, in any case of A to Z; at most so many of each. */
export async function namesBeginning(
  tables: Pick<SearchTables, 'namesBeginning'>,
  text: string,
  limit: number,
): Promise<readonly FoundName[]> {
  if (text === '' || text.length > LONGEST) return [];
  const found = await Promise.all(
    KINDS.map(async (what) => {
      const walk = new Walk(tables, what, limit);
      await walk.from('', text);
      return walk.names.map((name) => ({ what, name }));
    }),
  );
  return found.flat();
}

/** Goes down an index letter by letter, and only to where there is something. */
class Walk {
  readonly names: string[] = [];
  readonly #tables: Pick<SearchTables, 'namesBeginning'>;
  readonly #kind: FoundName['what'];
  readonly #limit: number;
  #reads = 0;

  constructor(tables: Pick<SearchTables, 'namesBeginning'>, kind: FoundName['what'], limit: number) {
    this.#tables = tables;
    this.#kind = kind;
    this.#limit = limit;
  }

  /** @param begun - names begin with it, and go on with `rest` in any case */
  async from(begun: string, rest: string): Promise<void> {
    // Characters without a case are taken together with the letter behind them.
    const [same = ''] = /^[^A-Za-z]*/.exec(rest) ?? [];
    const letter = rest[same.length];
    if (letter === undefined) {
      this.names.push(...(await this.#namesWith(begun + same, this.#limit - this.names.length)));
      return;
    }
    for (const written of [letter.toUpperCase(), letter.toLowerCase()]) {
      const prefix = begun + same + written;
      const [first] = await this.#namesWith(prefix, 1);
      if (first !== undefined) await this.from(prefix, rest.slice(same.length + 1));
    }
  }

  async #namesWith(prefix: string, limit: number): Promise<readonly string[]> {
    if (this.names.length >= this.#limit || this.#reads >= MOST_READS) return [];
    this.#reads += 1;
    return this.#tables.namesBeginning(this.#kind, prefix, limit);
  }
}
