import { audit } from '../../operator/audit.ts';
import { bulks } from '../../operator/bulks.ts';
import { counts } from '../../operator/counts.ts';
import { erasing } from '../../operator/erasing.ts';
import { exporting } from '../../operator/export.ts';
import type { Operations } from '../../contract.ts';
import { pruning } from '../../operator/pruning.ts';
import type { Transfer } from '../../operator/transfer.ts';
import { marks } from '../../operator/marks.ts';
import { pauses } from '../../operator/pauses.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { type Access, operatorTables } from './access.ts';
import { actsOnEvents, bulkEngine } from './acts-on-events.ts';
import { countEngine } from './counts.ts';
import { erasingEngine, pruningEngine, secureAccess } from './removal.ts';
import { search } from './search-indexes.ts';
import { waits } from './waits.ts';
import { importing } from './importing.ts';

export function sqliteOperations(access: Access): Omit<Operations, 'backup'> {
  const tables = operatorTables(access);
  const found = search(access);
  return {
    ...found,
    ...waits(access),
    ...actsOnEvents(access),
    ...bulks(tables, bulkEngine(access)),
    ...pauses(tables),
    ...audit(tables),
    ...pruning(pruningEngine(access)),
    ...erasing(operatorTables(secureAccess(access)), erasingEngine(access)),
    ...exporting(tables, (...given) => found.search(...given)),
    ...importing(access),
    ...fileSize(access),
    ...counts(tables, countEngine(access)),
    ...marks(tables),
  };
}

function fileSize(access: Access): Pick<Transfer, 'bytes'> {
  return { bytes: async () => bytesOf(access.database()) };
}

/** Includes pages in the write-ahead log. */
function bytesOf(database: SqliteDatabase): number {
  const pragma = (name: string): number => Number(database.pragma(name, { simple: true }));
  return pragma('page_count') * pragma('page_size');
}
