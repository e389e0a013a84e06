import { deadGroups } from '../../../operator/dead-groups.ts';
import { search as searchOf } from '../../../operator/finding/find-page.ts';
import type { Search } from '../../../operator/search.ts';
import type { Access } from '../access.ts';
import { operatorTables } from '../operator-tables.ts';
import { indexNew } from './search-words.ts';
import { searchIndexes } from './sources.ts';

export function search(access: Access): Search {
  const tables = operatorTables(access);
  // The connection is taken anew each time, because the inbox may open the file again.
  const indexes = searchIndexes(() => access.database());
  return {
    ...searchOf(tables, { indexNew: (limit, upTo) => indexNew(access, limit, upTo), indexes: () => indexes }),
    // Deliveries are taken in between two groups.
    ...deadGroups(tables, { counted: 1, shown: 1 }),
  };
}
