import { eventTypes } from '../../../events/event-types.ts';
import { late, notTaken, outcome, type Advice } from '../judge-answers.ts';
import { isTaken } from '../check-run.ts';
import type { Probe } from './probe.ts';

const WITHOUT_END = 'the response body was incomplete, so only its status was checked';

/** A delivery that is taken too late is not taken; `in-time` judges one that is merely slow. */
export const valid: Probe = async (run) => {
  const event = run.event();
  const { what } = event;
  const answer = await run.deliver(event);
  if (!isTaken(answer)) return outcome([notTaken(what, answer)]);
  const isLate = answer.ms > run.deadlineMs;
  const note = answer.status !== null && !answer.ended ? WITHOUT_END : undefined;
  return outcome([isLate ? late(what, { ms: answer.ms, deadlineMs: run.deadlineMs }) : null], note);
};

const MISSES_A_TYPE: Advice = {
  why: 'This is one of the eleven types of the service. The service retries a rejected event for about a day. Then the event is lost.',
  mend:
    'Return a 2xx for every authentic event, even if you do not use its type. Or, in the dashboard, ' +
    'deselect the types that you do not use.',
};

/** One event of each of the eleven types. */
export const everyType: Probe = async (run) => {
  const findings = [];
  for (const type of eventTypes) {
    const event = run.event(type);
    findings.push(notTaken(event.what, await run.deliver(event), MISSES_A_TYPE));
  }
  return outcome(findings);
};

const MISSES_NEW_TYPES: Advice = {
  why:
    'The service may add types at any time. It would retry each event of a new type for a day, and then the event ' +
    'would be lost.',
  mend: 'Store events of unknown types and return a 2xx. If your code has a switch on the type, add a default case that does nothing.',
};

/** A type that may be added one day. */
export const unknownType: Probe = async (run) => {
  const event = run.event('order.created', { type: 'order.refunded' });
  return outcome([notTaken(event.what, await run.deliver(event), MISSES_NEW_TYPES)]);
};

const MISSES_NEW_FIELDS: Advice = {
  why: 'The service may add fields at any time. Your endpoint would then reject every event.',
  mend: 'Allow unknown fields in the schema: remove additionalProperties: false, and do not use strict objects.',
};

/** Fields that may be added one day. */
export const additionalFields: Probe = async (run) => {
  const event = run.event('order.created', { api_version: '2', livemode: false, related: { ids: ['ord_1', null] } });
  const what = `${event.what}, with unknown fields`;
  return outcome([notTaken(what, await run.deliver(event), MISSES_NEW_FIELDS)]);
};
