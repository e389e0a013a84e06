import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import type { EraseOptions, EraseReport } from '../inbox/operator/erasing.ts';
import { assertOptions, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';

const OPTIONS: RulesFor<EraseOptions> = { dryRun: 'boolean', signal: true, onProgress: 'function' };

const INDEX_BATCH = 500;

/**
 * Erases all data about an entity, for example because a person asks to be forgotten: bodies, error messages,
 * conflicting bodies and the entity's name, also in the audit, bulk actions and pauses. Erased pending events are never
 * handled. The ids remain known, so a redelivery is still a duplicate, and its body is not kept. An event whose handler
 * is running is counted, but not erased; call `eraseEntity` again later.
 *
 * `eraseEntity` also erases events without an entity if the built-in `entityOf` returns this entity for their bodies,
 * or if their data contains the id of this entity as `id`, `order_id`, `cart_id` or `product_id`.
 *
 * On SQLite, the data is overwritten in the file, and the write-ahead log is emptied. If the inbox uses your own
 * connection without `PRAGMA secure_delete = ON`, old copies remain on free pages of the file until `VACUUM`. On
 * Postgres, the data remains in dead rows until VACUUM removes them, and in logs, standbys and archives. Existing
 * backups and exports still contain the data, and so does anything that handlers wrote elsewhere.
 *
 * @param entity - the name of the entity (`order:mer_7:ord_42`), or an id in that name (`ord_42`)
 * @param by - the operator; a reason that names the entity is stored without the name
 * @throws ConfigurationError `INVALID_OPTION` for an empty name
 * @example
 * ```ts
 * import { eraseEntity } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { erased, inProcessing } = await eraseEntity(inbox, 'ord_42', { actor: 'ada', reason: 'request 17' });
 * console.log(`${erased} erased; ${inProcessing} are being handled just now`);
 * ```
 */
export async function eraseEntity(
  inbox: AnyInbox,
  entity: string,
  by: By,
  options: EraseOptions = {},
): Promise<EraseReport> {
  assertOptions('eraseEntity', options, OPTIONS);
  const operations = operationsOf(inbox);
  // More events may keep arriving.
  const [newest] = (await operations.search({}, { limit: 1 })).events;
  for (let left = Infinity; left > 0 && options.signal?.aborted !== true;) {
    left = await operations.indexNew(INDEX_BATCH, newest?.seq ?? 0);
    options.onProgress?.({ step: 'indexing', left });
  }
  return operations.erase(entity, by, options);
}

/** Where erased data may remain; `null` if nowhere. */
export function leftInLog(logEmptied: EraseReport['logEmptied']): string | null {
  if (logEmptied === true) return null;
  return logEmptied === false
    ? 'The write-ahead log still holds the erased data, because another process is reading the log. To empty the log, run the erasure again.'
    : 'Postgres keeps the erased data in dead rows until VACUUM removes the rows, and in archived log files until you delete the files.';
}
