import type { EntityOf } from '../events/entity.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { ActOptions, ActReport, By } from '../inbox/operator/acts.ts';
import { decideOnStored } from '../inbox/rules/operator-acts.ts';
import { askedByKey } from '../inbox/rules/decide-act.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { actOnNamed } from './act-on-named.ts';

const OPTIONS: KnownOptions<ActOptions> = { states: 'list', force: 'boolean', entity: 'function' };
const OF_ONE = { entity: true, now: true } as const;

/**
 * Reruns dead, ignored or discarded events and, with `force`, processed events. hookbox changes all these events and
 * writes the audit line in one transaction. hookbox parses each stored body with the current schemas. The history is
 * kept, and attempt numbers continue; the counts of failures and crashes restart at zero.
 *
 * @param keys - at most 500 events whose bodies total at most 512 KiB, or one event of any size; for more, use
 * {@link previewBulk}
 * @param options - with `states`, an event in any other state stays unchanged and is reported as `changed`
 * @throws ConfigurationError `INVALID_OPTION` for too many events or a missing `by`
 * @throws InboxUnavailableError if the inbox could not be written to; in that case, nothing has changed
 * @example
 * ```ts
 * import { rerunEvents } from 'hookbox/ops';
 * import { sqliteInbox } from 'hookbox/sqlite';
 *
 * const inbox = sqliteInbox('shop.db');
 * const key = { endpoint: 'default', id: 'evt_1' };
 * const { counts } = await rerunEvents(inbox, [key], { actor: 'ada', reason: 'the shop was down' });
 * console.log(counts); // { unknown: 1 }
 * await inbox.close();
 * ```
 */
export async function rerunEvents(
  inbox: AnyInbox,
  keys: readonly EventKey[],
  by: By,
  options: ActOptions = {},
): Promise<ActReport> {
  assertOptions('rerunEvents', options, OPTIONS);
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
 * Reruns one dead, ignored or discarded event. hookbox parses the stored body with the current schemas. The counts of
 * failures and crashes restart at zero; the history is kept. `rerun` does not write to the audit; `rerunEvents` of
 * `hookbox/ops` does.
 *
 * @param options - pass the `entity` option of your receiver, if it has one. That function names the entity of an
 * invalid event, which hookbox stored without an entity. `now` replaces the current time (milliseconds since 1970), for
 * tests.
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
  const decision = decideOnStored(askedByKey('rerun', false), event, entity);
  // The action asks for every state that a rerun applies to.
  if (decision.result === 'changed') return 'not needed';
  if (decision.result !== 'done') return decision.result;
  // The only move that a rerun makes without force.
  if (decision.move.name !== 'toPending') return 'not needed';
  const moved = await inbox.rerun(key, decision.move.content, now, event?.body ?? undefined);
  return moved ? 'rerun' : 'not needed';
}
