import type { Operations } from '../../contract.ts';
import { operationsOn } from '../../operator/operations.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import type { Access } from './access.ts';
import { countEngine } from './counts.ts';
import { erasingEngine, secureAccess } from './erasing.ts';
import { pruningEngine } from './prunable-events.ts';
import { searchEngine } from './search-indexes.ts';
import { operatorTables } from './tables.ts';
import { waits } from './waits.ts';

export function sqliteOperations(access: Access): Omit<Operations, 'backup'> {
  return {
    ...operationsOn(operatorTables(access), {
      search: searchEngine(access),
      waits: waits(access),
      pruning: pruningEngine(access),
      erasing: erasingEngine(access),
      erasingTables: operatorTables(secureAccess(access)),
      counts: countEngine(access),
    }),
    bytes: async () => bytesOf(access.database()),
  };
}

/** Includes pages in the write-ahead log. */
function bytesOf(database: SqliteDatabase): number {
  const pragma = (name: string): number => Number(database.pragma(name, { simple: true }));
  return pragma('page_count') * pragma('page_size');
}
