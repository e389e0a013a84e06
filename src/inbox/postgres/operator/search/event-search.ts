import { deadGroups } from '../../../operator/dead-groups.ts';
import { search as searchOf } from '../../../operator/finding/find-page.ts';
import type { Search } from '../../../operator/search.ts';
import type { OperatorTables } from '../../../operator/sql.ts';
import type { Access } from '../access.ts';
import { indexNew } from './search-words.ts';
import { searchIndexes } from './sources.ts';

export function search({ store, ask }: Access, tables: OperatorTables): Search {
  return {
    ...searchOf(tables, {
      indexNew: (limit, upTo, signal) =>
        ask(() => indexNew({ ...store, database: store.database.until(signal) }, limit, upTo)),
      indexes: (reader) => searchIndexes(reader, store.t),
    }),
    // No other statement of the server waits for its processor for long.
    ...deadGroups(tables, { counted: 100, shown: 200 }),
  };
}
