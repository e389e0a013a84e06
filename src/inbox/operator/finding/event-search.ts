import type { Search } from '../search.ts';
import type { OperatorTables, Read, Reader } from '../sql.ts';
import { summariesOf, summaryOfKey } from '../summaries.ts';
import { BodiesInTurn } from './bodies-in-turn.ts';
import { countFound, findPage, indexSome, type Searched } from './find-page.ts';
import { fittingEvents, fittingRow, type FittingColumns } from './conditions.ts';
import { namesBeginning } from './names-beginning.ts';
import { searchTables, type SearchIndexes } from './sources.ts';

/** What each database has of its own for a search. */
export interface SearchEngine {
  /** @param signal - once aborted, no transaction begins */
  readonly indexNew: (limit: number, upTo?: number, signal?: AbortSignal) => Promise<number>;
  readonly indexes: (reader: Reader) => SearchIndexes;
}

export function search(tables: OperatorTables, engine: SearchEngine): Omit<Search, 'deadGroups'> {
  const { dialect } = tables;
  /** A connection is held for a few statements, and not while the search rests. */
  const searched = (read: Read, signal?: AbortSignal): Searched => ({
    indexNew: (limit, upTo) => engine.indexNew(limit, upTo, signal),
    look: (decide) => read((reader) => decide(searchTables(reader, dialect, engine.indexes(reader)), reader)),
    async fitting(conditions, seqs, indexed) {
      const asked = fittingEvents(dialect, conditions, seqs, indexed);
      const found = await read(({ rows }) => rows<FittingColumns>(asked));
      const rows = new Map(found.map((row) => [row.seq, fittingRow(row)]));
      const inTurn = seqs.flatMap((seq) => rows.get(seq) ?? []);
      const bodies = new BodiesInTurn(dialect, inTurn);
      return { rows, bodyText: (seq) => bodies.text(seq, (asked) => read(({ rows }) => rows(asked))) };
    },
    summaries: async (seqs) => (seqs.length === 0 ? [] : read((reader) => summariesOf(reader, dialect, seqs))),
  });
  return {
    search: (filter, page) =>
      tables.inSteps((read) => findPage(searched(read, page.signal), filter, page), page.signal),
    countFound: (filter, request) =>
      tables.inSteps((read) => countFound(searched(read, request.signal), filter, request), request.signal),
    namesLike: (...given) =>
      tables.inSteps(async (read) => {
        const engine = searched(read);
        await indexSome(engine);
        return engine.look((tables) => namesBeginning(tables, ...given));
      }),
    summary: (key) => tables.read((reader) => summaryOfKey(reader, dialect, key)),
    indexNew: (limit, upTo) => engine.indexNew(limit, upTo),
  };
}
