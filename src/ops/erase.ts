import type { AnyInbox } from '../inbox/contract.ts';
import type { By } from '../inbox/operator/acts.ts';
import type { EraseOptions, EraseReport } from '../inbox/operator/removal.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { operationsOf } from './operations-of.ts';

const OPTIONS: KnownOptions<EraseOptions> = { dryRun: 'boolean', signal: true, onProgress: 'function' };

const INDEX_BATCH = 500;

/**
 * Removes everything that is kept about an entity, for a person's right to be forgotten: bodies, what errors said, other
 * bodies under the ids, its name, and what the audit, bulk actions and pauses say of it; events of whatever state, pending ones
 * included, which nobody will handle then. That the ids are known stays, without anything else: a redelivery is still a
 * duplicate, and its body is not kept. An event whose handler runs at that moment is left and counted: erase again.
 *
 * Events without an entity are erased whose bodies name it: by hookbox's own rule (`entityOf`), or as `id`, `order_id`,
 * `cart_id` or `product_id` in their data.
 * What goes is overwritten in the file, and the write-ahead log is emptied. Not reached are backups and exports, what
 * handlers wrote elsewhere, and copies that SQLite left on free pages before, on a connection of your
 * own without `PRAGMA secure_delete = ON`. `VACUUM` clears these, when there is time for it.
 * On Postgres nothing is overwritten: what goes is a dead row until VACUUM, and in its log, standbys and archives for as long as
 * the database keeps these.
 *
 * @param entity - its name (`order:mer_7:ord_42`), or an id in it (`ord_42`)
 * @param by - a reason that names the entity is kept without the name
 * @throws ConfigurationError for an empty name
 * @example
 * ```ts
 * import { eraseEntity } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const { erased, inProcessing } = await eraseEntity(inbox, 'ord_42', { actor: 'ada', reason: 'request 17' });
 * console.log(`${erased} erased; ${inProcessing} are being handled just now`);
 * await inbox.close();
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
  // As of now: under load there may always be something new.
  const [newest] = (await operations.search({}, { limit: 1 })).events;
  for (let left = Infinity; left > 0 && options.signal?.aborted !== true;) {
    left = await operations.indexNew(INDEX_BATCH, newest?.seq ?? 0);
    options.onProgress?.({ step: 'indexing', left });
  }
  return operations.erase(entity, by, options);
}
