import type { SqliteDatabase } from '../../database.ts';
import type { Access } from '../access.ts';
import { statement } from '../../prepared-statement.ts';
import { securely } from './secure-deletion.ts';

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

  hideIn(text: string): string {
    if (this.#words.has(text)) return ERASED;
    this.#entities ??= new RegExp(`(?<![${NAME}])(?:${[...this.#escaped].join('|')})(?![${NAME}])`, 'gu');
    return text
      .replaceAll(this.#entities, ERASED)
      .replaceAll(/[^\s,;()"'[\]{}]+?(?=[.:!?]*(?:[\s,;()"'[\]{}]|$))/g, (word) =>
        this.#words.has(word) ? ERASED : word,
      );
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

/** Where operators' acts are kept with what they were about, and by what their rows are told apart. */
const KEPT = [
  { table: 'hookbox_audit', key: 'seq' },
  { table: 'hookbox_bulks', key: 'id' },
] as const;
/** Few enough to be read between two deliveries. */
const PAGE = 100;

interface KeptRow {
  readonly key: number;
  readonly filter: string;
  readonly reason: string | null;
}

/** How far `hideInActs` has come in each table. */
export type HiddenUpTo = readonly number[];

/**
 * Replaces erased names in what is kept of operators' acts.
 *
 * @param from - where an earlier pass has ended
 * @returns where this one has ended
 */
export async function hideInActs(access: Access, names: ErasedNames, from: HiddenUpTo = []): Promise<HiddenUpTo> {
  const ends: number[] = [];
  for (const [index, { table, key }] of KEPT.entries()) {
    let after = from[index] ?? 0;
    for (;;) {
      const rows = statement(
        access.database(),
        `SELECT ${key} AS key, filter, reason FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${PAGE}`,
      ).all(after) as KeptRow[];
      const hidden = rows.flatMap((row) => hiddenRow(row, names));
      // Also lets deliveries have their turn.
      await access.write(({ database }) => {
        if (hidden.length > 0) securely(database, () => writeHidden(database, table, key, hidden));
      });
      after = rows.at(-1)?.key ?? after;
      if (rows.length < PAGE) break;
    }
    ends.push(after);
  }
  return ends;
}

/** None when nothing had to be hidden. */
function hiddenRow(row: KeptRow, names: ErasedNames): KeptRow[] {
  const filter = JSON.stringify(names.hideInAll(JSON.parse(row.filter)));
  const reason = row.reason === null ? null : names.hideIn(row.reason);
  return filter === row.filter && reason === row.reason ? [] : [{ key: row.key, filter, reason }];
}

function writeHidden(database: SqliteDatabase, table: string, key: string, rows: readonly KeptRow[]): void {
  const update = statement(database, `UPDATE ${table} SET filter = :filter, reason = :reason WHERE ${key} = :key`);
  for (const row of rows) update.run(row);
}
