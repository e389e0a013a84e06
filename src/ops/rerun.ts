import type { EntityOf } from '../events/entity.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';
import type { ActOptions, ActReport, By } from '../inbox/operator/acts.ts';
import { decideOnStored } from '../inbox/rules/body-today.ts';
import { askedByKey } from '../inbox/rules/operator-acts.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { actOnNamed } from './act-on-named.ts';

const OPTIONS: KnownOptions<ActOptions> = { states: 'list', force: 'boolean', entity: 'function' };
const OF_ONE = { entity: true, now: true } as const;

/**
 * Runs the handlers of dead or ignored events again; of processed ones too with `force`. All of them in one transaction
 * with their line in the audit. Each event's bytes are parsed with today's schemas, its history stays, and its attempts go
 * on being counted.
 *
 * @param keys - 500 at most, whose bodies have 512 KiB together at most, or one; for more there is `previewBulk`
 * @param options - `states` leaves events in any other state as they are: `changed`
 * @throws ConfigurationError for too many events, or an act of nobody
 * @throws InboxUnavailableError when nothing was done
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

/** What became of the wish to rerun an event. */
export type RerunResult =
  /** it is pending, and a processor takes it like a new one */
  | 'rerun'
  /** there is no event of this key */
  | 'unknown'
  /** it is neither dead nor ignored, so nothing has to be done */
  | 'not needed'
  /** its body does not fit today's schemas either */
  | 'still invalid'
  /** it was pruned: there is no body to run a handler with */
  | 'pruned';

/**
 * Runs the handler for a dead or an ignored event again. Its stored bytes are parsed with today's schemas, its attempts
 * and crashes count from nothing, and its history stays. It leaves no line in the audit: `rerunEvents` of `hookbox/ops` does.
 *
 * @param options - `entity` is the receiver's option of that name, where it has one: it names invalid events, which were
 * stored without an entity
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
  // The act asks for every state that a rerun applies to.
  if (decision.result === 'changed') return 'not needed';
  if (decision.result !== 'done') return decision.result;
  // The only move that a rerun makes without force.
  if (decision.move.name !== 'toPending') return 'not needed';
  const moved = await inbox.rerun(key, decision.move.content, now, event?.body ?? undefined);
  return moved ? 'rerun' : 'not needed';
}
