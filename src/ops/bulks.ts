import { ConfigurationError } from '../errors.ts';
import { delay as sleep, performance } from '../host/real-timers.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import {
  type Act,
  type ActOptions,
  type Bulk,
  type BulkEvents,
  type BulkEventsOptions,
  type By,
  type StoredBulk,
  bulkFates,
  type BulkFate,
  type OutcomePart,
} from '../inbox/operator/acts.ts';
import { type EventFilter, PAGE_LIMIT, type PageRequest } from '../inbox/operator/search.ts';
import { hasEnded, unknownBulk, runOf } from '../inbox/rules/bulks.ts';
import { requestByFilter, searchedFor } from '../inbox/rules/decide-act.ts';
import { assertOptions, whole, positive, orNull, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';

const PREVIEW_PAGE = 500;
export const USUAL_RATE = 500;
/** The highest rate that the page accepts. */
export const FASTEST_RATE = 100_000;
const BATCH = 100;

const PAGE: RulesFor<PageRequest> = { before: orNull(whole(0)), limit: PAGE_LIMIT };
const PREVIEW: RulesFor<PreviewOptions> = { force: 'boolean', onProgress: 'function', signal: true };
const RUN: RulesFor<RunBulkOptions> = {
  entity: 'function',
  ratePerSecond: positive(Infinity),
  signal: true,
  onProgress: 'function',
};

/** The options of {@link previewBulk}. */
export interface PreviewOptions {
  /** For a rerun: include ignored, discarded and processed events. */
  readonly force?: boolean;
  /** Called with the number of events examined so far and the number of matching events among them. */
  readonly onProgress?: (examined: number, found: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Stores a list of the events that currently match a filter, and returns a description of the list. `runBulk` then acts
 * on these events. Each action applies only to some events:
 *
 * - rerun: dead events with a body; ignored and discarded events only if `filter` names them (`states`, `events`,
 *   `ignoredSince`) or with `force`; processed events only with `force`
 * - discard: dead and pending events
 * - retry now: pending events that have failed and are not due yet
 *
 * hookbox cancels a preview that is not run within a week.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an invalid filter or a missing `by`
 * @throws `signal.reason` if the signal is aborted; no preview is stored
 * @example
 * ```ts
 * import { previewBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { total, breakdown } = await previewBulk(inbox, 'rerun', { error: 'timed out' }, { actor: 'ada' });
 * console.log(total, breakdown.types); // 0 {}
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
  const searched = searchedFor(requestByFilter(act, force, filter), filter);
  let examined = 0;
  let found = 0;
  // Newest first, so events that arrive during the preview are not included.
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

/** The options of {@link runBulk}. */
export interface RunBulkOptions extends Pick<ActOptions, 'entity'> {
  /**
   * The maximum number of events per second; `Infinity` for no limit.
   *
   * @defaultValue that of the latest run, or 500
   */
  readonly ratePerSecond?: number;
  /** Stops after the current batch. The bulk action stays `running`, with `stopped` set, and can be resumed. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (bulk: Bulk) => void;
}

/**
 * Runs a previewed bulk action, or resumes a paused or stopped one, until it is done, cancelled, paused, or stopped by
 * the signal.
 * `runBulk` acts on each event only once, even if two processes run the bulk action; the two processes then share the
 * rate. A run has one audit line, whose counts grow. Each process that resumes the run adds an audit line `resume`.
 *
 * @throws ConfigurationError `INVALID_OPTION` for a bulk action that is unknown, done or cancelled, or for a missing
 * `by`
 * @throws InboxUnavailableError if a batch was not written; call `runBulk` again to resume
 * @example
 * ```ts
 * import { previewBulk, runBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const by = { actor: 'ada', reason: 'the shop was down' };
 * const { id } = await previewBulk(inbox, 'rerun', { types: ['order.created'] }, by);
 * const { state, counts } = await runBulk(inbox, id, by, { ratePerSecond: 100 });
 * console.log(state, counts); // done {}
 * ```
 */
export async function runBulk(inbox: AnyInbox, id: number, by: By, options: RunBulkOptions = {}): Promise<Bulk> {
  assertOptions('runBulk', options, RUN);
  const { entity, signal, onProgress } = options;
  const operations = operationsOf(inbox);
  let bulk = await operations.bulk(id);
  if (bulk === null) throw unknownBulk(id);
  if (hasEnded(bulk)) {
    const message = `Bulk action ${id} is already ${bulk.state}. Preview again to act on the events that match now.`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  if (bulk.state !== 'previewed') bulk = await operations.resumeBulk(id, by);

  const ratePerSecond = options.ratePerSecond ?? bulk.ratePerSecond ?? USUAL_RATE;
  const limit = Math.max(1, Math.floor(Math.min(BATCH, ratePerSecond)));
  let next = performance.now();
  let isOurs = false;
  try {
    for (;;) {
      if (signal?.aborted) return { ...shownBulk(bulk), ...(isOurs && { stopped: 'reported' }) };
      const { worked } = bulk;
      const first = isOurs ? {} : { ratePerSecond };
      bulk = await operations.advanceBulk(id, limit, by, { ...first, ...(entity !== undefined && { entity }) });
      isOurs = bulk.state === 'running';
      onProgress?.(shownBulk(bulk));
      if (!isOurs) return shownBulk(bulk);
      // Events of another process also count.
      next = Math.max(next + ((bulk.worked - worked) / ratePerSecond) * 1_000, performance.now());
      await until(next, signal, () => operations.reportBulk(id, false));
    }
  } finally {
    // Otherwise, it seems stopped only when its heartbeats are missing.
    if (isOurs) await operations.reportBulk(id, true).catch(() => {});
  }
}

async function until(time: number, signal: AbortSignal | undefined, live: () => Promise<void>): Promise<void> {
  for (let ms = time - performance.now(); ms >= 1; ms = time - performance.now()) {
    await sleep(Math.min(ms, HEARTBEAT_MS), undefined, signal && { signal }).catch(() => {});
    if (signal?.aborted === true) return;
    if (ms > HEARTBEAT_MS) await live().catch(() => {});
  }
}

/**
 * Pauses a running bulk action, whichever process runs it, and returns it. `runBulk` in that process ends after its
 * current batch; `runBulk` in any process continues. A bulk action in another state stays unchanged.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an unknown bulk action or a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { pauseBulk, previewBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { id } = await previewBulk(inbox, 'rerun', { error: 'timed out' }, { actor: 'ada' });
 * const { state } = await pauseBulk(inbox, id, { actor: 'ada' });
 * console.log(state); // previewed
 * ```
 */
export async function pauseBulk(inbox: AnyInbox, id: number, by: By): Promise<Bulk> {
  return shownBulk(await operationsOf(inbox).pauseBulk(id, by));
}

const EVENTS: RulesFor<BulkEventsOptions> = { ...PAGE, skipped: 'boolean' };

/**
 * Lists the events of a bulk action, newest first, each with its result. With `skipped`, only the events that the bulk
 * action left unchanged. The inbox keeps the list for a week after the bulk action ends.
 *
 * @throws ConfigurationError `INVALID_OPTION` for a limit that is not a whole number from 1 to 500
 * @example
 * ```ts
 * import { bulkEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { events } = await bulkEvents(inbox, 1, { skipped: true });
 * for (const { event, result } of events) console.log(event.id, result);
 * ```
 */
export async function bulkEvents(inbox: AnyInbox, id: number, options: BulkEventsOptions = {}): Promise<BulkEvents> {
  assertOptions('bulkEvents', options, EVENTS);
  return operationsOf(inbox).bulkEvents(id, options);
}

/**
 * Cancels a bulk action and returns it. The remaining events stay unchanged. If the bulk action has already ended,
 * nothing changes.
 *
 * @throws ConfigurationError `INVALID_OPTION` for an unknown bulk action or a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { cancelBulk, previewBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { id } = await previewBulk(inbox, 'discard', { merchant: 'mer_7' }, { actor: 'ada' });
 * const { state } = await cancelBulk(inbox, id, { actor: 'ada' });
 * console.log(state); // cancelled
 * ```
 */
export async function cancelBulk(inbox: AnyInbox, id: number, by: By): Promise<Bulk> {
  return shownBulk(await operationsOf(inbox).cancelBulk(id, by));
}

/**
 * Returns the bulk action with this id, or `null`. If the process that ran the bulk action seems to have died,
 * `getBulk` waits three seconds and checks again before it reports `stopped`.
 * @example
 * ```ts
 * import { getBulk } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * console.log(await getBulk(inbox, 1)); // null
 * ```
 */
export async function getBulk(inbox: AnyInbox, id: number): Promise<Bulk | null> {
  const [bulk] = await judgedBulks(inbox, async () =>
    [await operationsOf(inbox).bulk(id)].filter((found) => found !== null),
  );
  return bulk ?? null;
}

/**
 * Lists bulk actions, newest first.
 *
 * @param page - `before` is the id of the last bulk action of the previous page
 * @throws ConfigurationError `INVALID_OPTION` for a limit that is not a whole number from 1 to 500
 * @example
 * ```ts
 * import { listBulks } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * for (const { id, act, state, worked, total } of await listBulks(inbox)) console.log(id, act, state, worked, total);
 * ```
 */
export async function listBulks(inbox: AnyInbox, page: PageRequest = {}): Promise<readonly Bulk[]> {
  assertOptions('listBulks', page, PAGE);
  return judgedBulks(inbox, () => operationsOf(inbox).bulks(page));
}

const HEARTBEAT_MS = 2_000;
/** A living process sends a heartbeat within this time. */
const LOOK_AGAIN_MS = 1.5 * HEARTBEAT_MS;

/** For each inbox, the last heartbeats of bulk actions that were silent in two checks. */
const lasting = new WeakMap<object, Map<number, number>>();

function shownBulk({ heartbeat, ...bulk }: StoredBulk): Bulk {
  const run = runOf({ ...bulk, heartbeat });
  return { ...bulk, stopped: run === 'reported' ? run : null };
}

/** Checks twice, a heartbeat apart, before it calls a bulk action silent, because a clock may have jumped. */
async function judgedBulks(inbox: object, read: () => Promise<readonly StoredBulk[]>): Promise<readonly Bulk[]> {
  const known = lasting.get(inbox) ?? new Map<number, number>();
  lasting.set(inbox, known);
  const isKnown = ({ id, heartbeat }: StoredBulk): boolean => heartbeat !== null && known.get(id) === heartbeat.ms;
  let bulks = await read();
  const doubtful = bulks.filter((bulk) => runOf(bulk) === 'silent' && !isKnown(bulk));
  if (doubtful.length > 0) {
    await sleep(LOOK_AGAIN_MS);
    bulks = await read();
    for (const { id, heartbeat } of doubtful) {
      const now = bulks.find((bulk) => bulk.id === id)?.heartbeat?.ms;
      if (heartbeat !== null && now === heartbeat.ms) known.set(id, now);
    }
  }
  return bulks.map((bulk) =>
    runOf(bulk) === 'silent' && isKnown(bulk) ? { ...shownBulk(bulk), stopped: 'silent' } : shownBulk(bulk),
  );
}

const STEP = 1_000;

/** The current states of a bulk action's events. */
export interface BulkOutcome {
  /** How many events the bulk action acted on. The number grows during the run. */
  readonly acted: number;
  /**
   * How many events are in each state now. `waiting` and `retrying` events are pending; `retrying` ones have failed
   * before.
   */
  readonly counts: Readonly<Record<BulkFate, number>>;
  /** How many of these events an operator has changed since then. `counts` includes them in their current state. */
  readonly again: number;
  /** How many events are no longer known. The inbox keeps the list of events for a week after the bulk action ends. */
  readonly forgotten: number;
}

/** The options of {@link bulkOutcome}. */
export interface BulkOutcomeOptions {
  /** Called after each thousand events with the counts so far. `forgotten` is 0 until the end. */
  readonly onProgress?: (soFar: BulkOutcome) => void;
  /** Aborts the count. */
  readonly signal?: AbortSignal;
}

const OUTCOME: RulesFor<BulkOutcomeOptions> = { onProgress: 'function', signal: true };

/**
 * Counts a bulk action's events by their current state. `listEvents` with the filter `{ bulk: id }` lists them.
 *
 * @returns `null` if no bulk action has this id
 * @throws `signal.reason` if the signal is aborted
 * @example
 * ```ts
 * import { bulkOutcome } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const outcome = await bulkOutcome(inbox, 1);
 * if (outcome !== null) console.log(`${outcome.counts.dead} of ${outcome.acted} are dead`);
 * ```
 */
export async function bulkOutcome(
  inbox: AnyInbox,
  id: number,
  options: BulkOutcomeOptions = {},
): Promise<BulkOutcome | null> {
  assertOptions('bulkOutcome', options, OUTCOME);
  const { onProgress, signal } = options;
  const operations = operationsOf(inbox);
  const bulk = await operations.bulk(id);
  if (bulk === null) return null;
  const parts: OutcomePart[] = [];
  for (let after: number | null = 0; after !== null;) {
    signal?.throwIfAborted();
    const part = await operations.outcomePart(id, after, STEP);
    if (part === null) return null;
    parts.push(part);
    after = part.next;
    if (after !== null) onProgress?.({ ...outcomeOf(bulk, parts), forgotten: 0 });
  }
  return outcomeOf(bulk, parts);
}

export interface OutcomeAtFirst {
  readonly outcome: BulkOutcome;
  /** the number of counted events; `null` for all */
  readonly ofFirst: number | null;
}

/** For lists. `null` for a bulk action that never ran. */
export async function outcomeAtFirst(inbox: AnyInbox, bulk: Bulk): Promise<OutcomeAtFirst | null> {
  if (bulk.startedAt === null) return null;
  const part = await operationsOf(inbox).outcomePart(bulk.id, 0, STEP);
  if (part === null) return null;
  const outcome = outcomeOf(bulk, [part]);
  return part.next === null ? { outcome, ofFirst: null } : { outcome: { ...outcome, forgotten: 0 }, ofFirst: STEP };
}

function outcomeOf({ counts: { done = 0 } }: Pick<Bulk, 'counts'>, parts: readonly OutcomePart[]): BulkOutcome {
  const sum = (of: (part: OutcomePart) => number): number => parts.reduce((all, part) => all + of(part), 0);
  const counts = Object.fromEntries(
    bulkFates.map((fate) => [fate, sum((part) => part.counts[fate] ?? 0)]),
  ) as BulkOutcome['counts'];
  const found = Object.values(counts).reduce((all, count) => all + count);
  // During the run, `done` lags behind.
  const acted = Math.max(found, done);
  return { acted, counts, again: sum(({ again }) => again), forgotten: acted - found };
}
