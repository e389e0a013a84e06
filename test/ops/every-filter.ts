import type { EventFilter } from '../../src/inbox/operator/search.ts';
import { eventStates } from '../../src/inbox/event.ts';

const conditions: EventFilter = {
  endpoint: 'default',
  id: 'evt_1',
  events: [
    { endpoint: 'default', id: 'evt_1' },
    { endpoint: 'second', id: 'evt_2' },
  ],
  types: ['order.created', 'order.ready'],
  states: ['dead', 'pending'],
  deadReasons: ['failed'],
  since: new Date(0),
  until: new Date(8e15),
  entity: 'ord_1',
  merchant: 'mer_1',
  failedSince: new Date(0),
  failedUntil: new Date(8e15),
  error: 'till',
  text: 'ord_1',
  fingerprint: 'failed',
  retrying: true,
  redelivered: true,
  conflict: true,
  superseded: true,
  bulk: 1,
  body: [{ path: 'data.id', value: 'ord_1' }],
  bodyText: 'ORD_1',
};

/** Each condition alone, the states in all their combinations, all conditions, and none. */
export function alone(): EventFilter[] {
  const states = Array.from({ length: 2 ** eventStates.length }, (_, bits) => ({
    states: eventStates.filter((_state, n) => bits & (1 << n)),
  }));
  const off = { retrying: false, redelivered: false, conflict: false, superseded: false };
  return [{}, ...singles(), ...states, conditions, off];
}

/** These, and each two conditions together. */
export function everyFilter(): EventFilter[] {
  const pairs = singles().flatMap((one, n, all) => all.slice(n + 1).map((other) => ({ ...one, ...other })));
  return [...alone(), ...pairs];
}

function singles(): EventFilter[] {
  return Object.entries(conditions).map(([name, value]) => ({ [name]: value }));
}
