import { delay as sleep, performance } from '../host/real-timers.ts';
import { ConfigurationError } from '../errors.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { Act, ActOptions, Bulk, By } from '../inbox/operator/acts.ts';
import type { EventFilter, PageRequest } from '../inbox/operator/filter.ts';
import { hasEnded, unknownBulk } from '../inbox/rules/bulks.ts';
import { askedByFilter, searchedFor } from '../inbox/rules/operator-acts.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { positive } from '../number-option.ts';
import { HEARD_EVERY_MS, judgedBulks, shownBulk } from './bulk-silence.ts';
import { operationsOf } from './operations-of.ts';

const PREVIEW_PAGE = 500;
/** Events a second that a bulk action works at most, unless told otherwise. */
export const USUAL_RATE = 500;
const BATCH = 100;

const PAGE: KnownOptions<PageRequest> = { before: true, limit: true };
const PREVIEW: KnownOptions<PreviewOptions> = { force: 'boolean', onProgress: 'function', signal: true };
const RUN: KnownOptions<RunBulkOptions> = {
  entity: 'function',
  ratePerSecond: true,
  signal: true,
  onProgress: 'function',
};

export interface PreviewOptions {
  /** rerun: ignored and processed events too */
  readonly force?: boolean;
  /** told how many events were looked at, and how many fit */
  readonly onProgress?: (examined: number, found: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Freezes which events a filter finds now, and says what they are. Nothing happens to them before `runBulk`. Only events
 * that the act applies to are among them, and none that a rerun would need a pruned body for:
 *
 * - for a rerun the dead ones; the ignored ones, too, where `filter.states` names `ignored`: most of them have no handler,
 *   and others were put away on purpose. With `force` the dead, the ignored and the processed ones
 * - for a discard the dead and the pending ones
 * - for a retry-now those that have failed and are due later than now
 *
 * A preview that nobody runs lasts a week.
 *
 * @throws ConfigurationError for a filter that cannot be, or an act of nobody
 * @throws the signal's reason when it was aborted; nothing is left to run then
 * @example
 * ```ts
 * import { previewBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const { total, breakdown } = await previewBulk(inbox, 'rerun', { error: 'timed out' }, { actor: 'ada' });
 * console.log(total, breakdown.types); // 0 {}
 * await inbox.close();
 * ```
 */
export async function previewBulk(
  inbox: AnyInbox,
  act: Act,
  filter: EventFilter,
  by: By,
  options: PreviewOptions = {},
): Promise<Bulk> {
  assertOptions('previewBulk', options, PREVIEW);
  const { force = false, onProgress, signal } = options;
  const operations = operationsOf(inbox);
  const id = await operations.createBulk(act, filter, by, force);
  const searched = searchedFor(askedByFilter(act, force, filter), filter);
  let examined = 0;
  let found = 0;
  // From the newest on, so that what arrives meanwhile is not met.
  for (let before: number | null | undefined; before !== null && searched.states.length > 0;) {
    signal?.throwIfAborted();
    const page = await operations.search(searched, { before: before ?? null, limit: PREVIEW_PAGE });
    const seqs = page.events.map(({ seq }) => seq);
    if (seqs.length > 0) await operations.addToBulk(id, seqs);
    examined += page.examined;
    found += page.events.length;
    onProgress?.(examined, found);
    before = page.next;
  }
  return shownBulk(await operations.sealBulk(id));
}

export interface RunBulkOptions extends Pick<ActOptions, 'entity'> {
  /** at most so many events a second; 500 unless given, `Infinity` for no limit */
  readonly ratePerSecond?: number;
  /** stops after the batch under way; the bulk stays `running`, is `stopped`, and can be resumed */
  readonly signal?: AbortSignal;
  readonly onProgress?: (bulk: Bulk) => void;
}

/**
 * Runs what was previewed, or goes on where a run has stopped; each event once, also when two run it at the same time,
 * who then share the rate. Resolves when it is done, cancelled or stopped by the signal. A run has one line in the audit,
 * whose counts grow with it; whoever goes on with it has a line `resume` beside that.
 *
 * @throws ConfigurationError for a bulk that is unknown, done or cancelled, or an act of nobody
 * @throws InboxUnavailableError when a batch could not be written; run it again to go on
 * @example
 * ```ts
 * import { previewBulk, runBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const by = { actor: 'ada', reason: 'the shop was down' };
 * const { id } = await previewBulk(inbox, 'rerun', { types: ['order.created'] }, by);
 * const { state, counts } = await runBulk(inbox, id, by, { ratePerSecond: 100 });
 * console.log(state, counts); // done {}
 * await inbox.close();
 * ```
 */
export async function runBulk(inbox: AnyInbox, id: number, by: By, options: RunBulkOptions = {}): Promise<Bulk> {
  assertOptions('runBulk', options, RUN);
  const { entity, ratePerSecond = USUAL_RATE, signal, onProgress } = options;
  positive('ratePerSecond', ratePerSecond, Infinity);
  const operations = operationsOf(inbox);
  let bulk = await operations.bulk(id);
  if (bulk === null) throw unknownBulk(id);
  if (hasEnded(bulk)) {
    const message = `Bulk action ${id} is already ${bulk.state}. Preview again to act on the events that match now.`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  if (bulk.state === 'running') await operations.note('resume', by, { bulk: id }, { left: bulk.total - bulk.worked });

  const limit = Math.max(1, Math.floor(Math.min(BATCH, ratePerSecond)));
  let next = performance.now();
  let isOurs = false;
  try {
    for (;;) {
      if (signal?.aborted) return { ...shownBulk(bulk), ...(isOurs && { stopped: 'told' }) };
      const { worked } = bulk;
      bulk = await operations.advanceBulk(id, limit, by, entity === undefined ? {} : { entity });
      isOurs = bulk.state === 'running';
      onProgress?.(shownBulk(bulk));
      if (!isOurs) return shownBulk(bulk);
      // What others have worked meanwhile counts too. Time that was lost is not caught up with.
      next = Math.max(next + ((bulk.worked - worked) / ratePerSecond) * 1_000, performance.now());
      await until(next, signal, () => operations.hearOfBulk(id, false));
    }
  } finally {
    // Who cannot say so is not heard of any more.
    if (isOurs) await operations.hearOfBulk(id, true).catch(() => {});
  }
}

/**
 * Where there is nothing to wait for, deliveries have their turn all the same: each batch waits for a commit with them.
 *
 * @param live - says, in a long wait, that it is still there
 */
async function until(time: number, signal: AbortSignal | undefined, live: () => Promise<void>): Promise<void> {
  for (let ms = time - performance.now(); ms >= 1; ms = time - performance.now()) {
    // An aborted wait is no failure: the loop looks at the signal. Nor is a word that could not be written.
    await sleep(Math.min(ms, HEARD_EVERY_MS), undefined, signal && { signal }).catch(() => {});
    if (signal?.aborted === true) return;
    if (ms > HEARD_EVERY_MS) await live().catch(() => {});
  }
}

/**
 * Ends a bulk action: events that it has not come to are left as they are. Resolves with the bulk as it stands then, which is
 * as it was when it had ended already.
 *
 * @throws ConfigurationError for a bulk that is unknown, or an act of nobody
 * @throws InboxUnavailableError when nothing was done
 * @example
 * ```ts
 * import { cancelBulk, previewBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const { id } = await previewBulk(inbox, 'discard', { merchant: 'mer_7' }, { actor: 'ada' });
 * const { state } = await cancelBulk(inbox, id, { actor: 'ada' });
 * console.log(state); // cancelled
 * await inbox.close();
 * ```
 */
export async function cancelBulk(inbox: AnyInbox, id: number, by: By): Promise<Bulk> {
  return shownBulk(await operationsOf(inbox).cancelBulk(id, by));
}

/**
 * A bulk action as it stands, or `null` where there is none of this id. One whose process seems to have gone is looked at for
 * three seconds before it counts as `stopped`, once.
 *
 * @example
 * ```ts
 * import { getBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * console.log(await getBulk(inbox, 1)); // null
 * await inbox.close();
 * ```
 */
export async function getBulk(inbox: AnyInbox, id: number): Promise<Bulk | null> {
  const [bulk] = await judgedBulks(inbox, async () =>
    [await operationsOf(inbox).bulk(id)].filter((found) => found !== null),
  );
  return bulk ?? null;
}

/**
 * Bulk actions, the newest first.
 *
 * @param page - `before` is the id of the last one of the page before
 * @throws ConfigurationError for a limit that is no whole number from 1 to 500
 * @example
 * ```ts
 * import { listBulks } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * for (const { id, act, state, worked, total } of await listBulks(inbox)) console.log(id, act, state, worked, total);
 * await inbox.close();
 * ```
 */
export async function listBulks(inbox: AnyInbox, page: PageRequest = {}): Promise<readonly Bulk[]> {
  assertOptions('listBulks', page, PAGE);
  return judgedBulks(inbox, () => operationsOf(inbox).bulks(page));
}
