import type { Operations } from '../../operator/operations.ts';
import type { Access } from './access.ts';
import { actsOnEvents } from './acts/act-on-events.ts';
import { bulks } from './acts/run-bulks.ts';
import { pausedTypes } from './acts/paused-types.ts';
import { audit } from './audit/audit-log.ts';
import { marks } from './counts/kept-marks.ts';
import { counts } from './counts/stored-counts.ts';
import { erasing } from './removal/erasing.ts';
import { pruning } from './removal/pruning.ts';
import { search } from './search/event-search.ts';
import { waits } from './search/waits.ts';
import { backups } from './transfer/backup.ts';
import { exporting } from './transfer/exporting.ts';
import { importing } from './transfer/importing.ts';

/** What operators do, on the tables of a file. */
export function sqliteOperations(access: Access): Operations {
  return {
    ...search(access),
    ...waits(access),
    ...actsOnEvents(access),
    ...bulks(access),
    ...pausedTypes(access),
    ...audit(access),
    ...pruning(access),
    ...erasing(access),
    ...exporting(access),
    ...importing(access),
    ...backups(access),
    ...counts(access),
    ...marks(access),
  };
}
