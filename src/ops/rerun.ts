import { entityOf, namedEntity, type EntityOf } from '../events/entity.ts';
import { readEvent } from '../events/parse.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { EventKey } from '../inbox/event.ts';

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
  inbox: Inbox,
  key: EventKey,
  { entity, now = Date.now() }: { readonly entity?: EntityOf; readonly now?: number } = {},
): Promise<RerunResult> {
  const event = await inbox.get(key);
  if (event === null) return 'unknown';
  if (event.state !== 'dead' && event.state !== 'ignored') return 'not needed';
  if (event.body === null) return 'pruned';
  const { parsed, facts } = readEvent(event.body);
  if (!parsed.ok || facts === null) return 'still invalid';
  // An invalid event was stored without one; any other keeps the one that its receiver gave it.
  const about = event.deadReason === 'invalid' ? namedEntity(entity ?? entityOf, parsed.event) : event.entity;
  const moved = await inbox.rerun(key, { ...facts, entity: about }, now, event.body);
  return moved ? 'rerun' : 'not needed';
}
