import { entityOf, namedEntity, type EntityOf } from '../../events/entity.ts';
import { readEvent } from '../../events/parse.ts';
import type { StoredEvent } from '../event.ts';
import type { Act } from '../operator/acts.ts';
import {
  decideAct,
  needsBody,
  type ActDecision,
  type ActedEvent,
  type AskedAct,
  type BodyToday,
} from './operator-acts.ts';

/** As `decideAct`, where the event is at hand with its body. */
export function decideOnStored(asked: AskedAct, event: StoredEvent | null, rule?: EntityOf): ActDecision {
  if (event === null) return decideAct(asked, null, null);
  const known = { ...event, pruned: event.body === null };
  const isRead = event.body !== null && needsBody(asked, known);
  return decideAct(asked, known, isRead ? bodyToday(asked.act, known, event.body, rule) : null);
}

/**
 * What today's schemas make of a stored body; `null` when it does not fit them. An event keeps the entity that its receiver
 * gave it. One that was stored as invalid has none, and gets one when it is rerun.
 *
 * @param rule - the receiver's, where it has one
 */
export function bodyToday(
  act: Act,
  event: Pick<ActedEvent, 'state' | 'deadReason'> & { readonly entity: string | null },
  body: Uint8Array,
  rule: EntityOf = entityOf,
): BodyToday | null {
  const { parsed, facts } = readEvent(body);
  if (!parsed.ok || facts === null) return null;
  // A discarded one may have been invalid before.
  const mayHaveNone = event.deadReason === 'invalid' || event.state === 'discarded';
  const isNamed = act === 'rerun' && mayHaveNone && event.entity === null;
  return { ...facts, entity: isNamed ? namedEntity(rule, parsed.event) : event.entity };
}
