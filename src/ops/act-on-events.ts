import type { EntityOf } from '../events/entity.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { ActOptions, ActReport, By, Act } from '../inbox/operator/acts.ts';
import { assertFilter } from '../inbox/operator/search.ts';
import { requestByKey } from '../inbox/rules/decide-act.ts';
import { decideOnStored } from '../inbox/rules/operator-acts.ts';
import { assertOptions, whole, type RulesFor } from '../option-rules.ts';
import { operationsOf } from './operations-of.ts';

const SHOWN: RulesFor<ShownEvents> = { states: 'list', attempts: whole(0) };
const RERUN: RulesFor<ActOptions> = { ...SHOWN, force: 'boolean', entity: 'function' };
const OF_ONE = { entity: true, now: true } as const;

/**
 * Reruns dead, ignored or discarded events and, with `force`, processed events, all in one transaction. hookbox parses
 * each stored body with the current schemas. Attempt numbers continue; the counts of failures and crashes restart at
 * zero.
 *
 * @param keys - at most 500 events whose bodies total at most 512 KiB, or one event of any size; for more, use {@link
 * previewBulk}
 * @param options - with `states` or `attempts`, any other event stays unchanged and is reported as `changed`
 * @throws ConfigurationError `INVALID_OPTION` for too many events or a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { rerunEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const key = { endpoint: 'default', id: 'evt_1' };
 * const { counts } = await rerunEvents(inbox, [key], { actor: 'ada', reason: 'the shop was down' });
 * console.log(counts); // { unknown: 1 }
 * ```
 */
export async function rerunEvents(
  inbox: AnyInbox,
  keys: readonly EventKey[],
  by: By,
  options: ActOptions = {},
): Promise<ActReport> {
  assertOptions('rerunEvents', options, RERUN);
  return actOnNamed(inbox, 'rerun', keys, by, options);
}

/** The result of {@link rerun}. */
export type RerunResult =
  /** The event is pending. A processor handles it like a new one. */
  | 'rerun'
  /** No event has this key. */
  | 'unknown'
  /** The event is not dead, ignored or discarded. */
  | 'not needed'
  /** The body still does not fit the current schemas. */
  | 'still invalid'
  /** The event was pruned, so its body is gone. */
  | 'pruned';

/**
 * Reruns one dead, ignored or discarded event, like `rerunEvents` of `hookbox/ops`, but without a line in the audit.
 *
 * @param options - `entity`: that option of your receiver, which names the entity of an invalid event. `now`: the
 * current time (milliseconds since 1970), for tests.
 * @example
 * ```ts
 * import { rerun } from 'hookbox';
 * import { memoryInbox } from 'hookbox/memory';
 *
 * console.log(await rerun(memoryInbox(), { endpoint: 'default', id: 'evt_1' })); // unknown
 * ```
 */
export async function rerun(
  inbox: AnyInbox,
  key: EventKey,
  options: { readonly entity?: EntityOf; readonly now?: number } = {},
): Promise<RerunResult> {
  assertOptions('rerun', options, OF_ONE);
  const { entity, now = Date.now() } = options;
  const event = await inbox.get(key);
  const decision = decideOnStored(requestByKey('rerun', false), event, entity);
  if (decision.result === 'changed') return 'not needed';
  if (decision.result !== 'done') return decision.result;
  if (decision.move.name !== 'toPending') return 'not needed';
  const moved = await inbox.rerun(key, decision.move.content, now, event?.body ?? undefined);
  return moved ? 'rerun' : 'not needed';
}

/**
 * Discards dead and pending events, so that no handler runs for them. Discarded events can be rerun later.
 *
 * An invalid event becomes discarded only if its body fits the current schemas. Otherwise, the result is `still
 * invalid` and the event stays dead. Once such an event is pruned or erased, it no longer counts as dead.
 *
 * @param keys - at most 500 events; for more, use {@link previewBulk}
 * @param options - with `states` or `attempts`, any other event stays unchanged and is reported as `changed`
 * @throws ConfigurationError `INVALID_OPTION` for too many events or a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { discardEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const { results } = await discardEvents(inbox, [{ endpoint: 'default', id: 'evt_1' }], { actor: 'ada' });
 * console.log(results[0]?.result); // unknown
 * ```
 */
export async function discardEvents(
  inbox: AnyInbox,
  keys: readonly EventKey[],
  by: By,
  options: ShownEvents = {},
): Promise<ActReport> {
  assertOptions('discardEvents', options, SHOWN);
  return actOnNamed(inbox, 'discard', keys, by, options);
}

/**
 * Makes failed events due now, instead of when their backoff ends. The counts of attempts, failures and crashes stay
 * the same, so an event gets no extra attempt. An event still waits for an older event of its entity. The result for an
 * event that is already due, being processed or settled is `not needed`.
 *
 * @param keys - at most 500 events whose bodies total at most 512 KiB, or one event of any size; for more, use {@link
 * previewBulk}
 * @param options - with `states` or `attempts`, any other event stays unchanged and is reported as `changed`
 * @throws ConfigurationError `INVALID_OPTION` for too many events or a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; nothing has changed
 * @example
 * ```ts
 * import { retryEventsNow } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * await using inbox = sqliteInbox('shop.db');
 * const key = { endpoint: 'default', id: 'evt_1' };
 * const { counts } = await retryEventsNow(inbox, [key], { actor: 'ada', reason: 'the warehouse is back' });
 * console.log(counts); // { unknown: 1 }
 * ```
 */
export async function retryEventsNow(
  inbox: AnyInbox,
  keys: readonly EventKey[],
  by: By,
  options: ShownEvents = {},
): Promise<ActReport> {
  assertOptions('retryEventsNow', options, SHOWN);
  return actOnNamed(inbox, 'retry-now', keys, by, options);
}

/** The events that an operator has seen. */
export type ShownEvents = Pick<ActOptions, 'states' | 'attempts'>;

async function actOnNamed(
  inbox: AnyInbox,
  act: Act,
  keys: readonly EventKey[],
  by: By,
  options: ActOptions,
): Promise<ActReport> {
  if (options.states !== undefined) assertFilter({ states: options.states });
  return operationsOf(inbox).act(act, keys, by, options);
}
