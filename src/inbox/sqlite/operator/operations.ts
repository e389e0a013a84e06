import { audit } from '../../operator/audit.ts';
import { bulks } from '../../operator/bulks.ts';
import { counts } from '../../operator/counts.ts';
import { erasing } from '../../operator/erasing.ts';
import { exporting } from '../../operator/export.ts';
import { marks } from '../../operator/marks.ts';
import type { Operations } from '../../contract.ts';
import { pauses } from '../../operator/pauses.ts';
import { pruning } from '../../operator/pruning.ts';
import type { Access } from './access.ts';
import { actsOnEvents } from './acts/act-on-events.ts';
import { bulkEngine } from './acts/run-bulks.ts';
import { operatorTables } from './operator-tables.ts';
import { countEngine } from './counts.ts';
import { erasingEngine } from './removal/erasing.ts';
import { pruningEngine } from './removal/pruning.ts';
import { secureAccess } from './removal/secure-deletion.ts';
import { search } from './search/event-search.ts';
import { waits } from './search/waits.ts';
import { fileSize } from './transfer/file-size.ts';
import { importing } from './transfer/importing.ts';

/** What operators do on the tables of a file, in any thread. */
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
