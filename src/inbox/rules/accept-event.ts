import type { Acceptance, IncomingEvent, Started } from '../event.ts';
import type { StartRequest } from '../work.ts';
import type { Ahead, Arrivals, Starts } from './engine.ts';
import { unparkNext } from './entity-order.ts';
import { firstStateOf } from './first-state.ts';
import { resolve } from './known-event.ts';
import type { NumberedStart } from './leases.ts';
import { oneMore } from './occurrences.ts';
import { setBackBy } from './set-back.ts';
import type { Steps } from './steps.ts';
import { hasSameBody } from './tombstone.ts';

const STORED: Acceptance = Object.freeze({ result: 'stored', conflict: false, replaced: false });
/** What is kept of a body that must not be: how often it came is told all the same. No event has a body of no bytes. */
const NOTHING = new Uint8Array();

/**
 * Stores an event unless its key is known.
 *
 * @param start - the caller handles it if nothing has to run before it: it is stored under a lease, and needs no claim
 */
export function* acceptEvent(engine: Starts, event: IncomingEvent, start?: NumberedStart): Steps<Acceptance> {
  const started = start === undefined ? undefined : yield* storeRunning(engine, event, start);
  const isStored = started ?? (yield* engine.insert(event, firstStateOf(event)));
  if (isStored === false) return yield* acceptAgain(engine, event);
  engine.counts.countType('stored', event.type);
  if (!event.valid) engine.counts.countType('dead', event.type);
  return started === undefined ? STORED : { ...STORED, started };
}

/** So many events that no processor has looked at are looked through for the entity of one that comes in. */
export const MANY_FRESH = 100;

/** `undefined` when it has to wait for a claim, or its key is known. */
function* storeRunning(
  engine: Starts,
  event: IncomingEvent,
  { now, leaseMs, ordered, number = 0 }: NumberedStart,
): Steps<Started | undefined> {
  if (!event.valid) return undefined;
  const ahead = yield* engine.ahead(event);
  if (!runsAtOnce(ahead, { now, ordered })) return undefined;
  const lease = yield* engine.insertRunning(event, { now, until: now + leaseMs, number });
  if (lease === null) return undefined;
  yield* engine.noteTime(now);
  return { ...lease, superseded: ahead.isSuperseded };
}

/** Whether nothing has to run before a new event. */
export function runsAtOnce(ahead: Ahead, { now, ordered }: Pick<StartRequest, 'now' | 'ordered'>): boolean {
  if (ahead.isCrowded || ahead.isPaused || (ordered && ahead.isEntityBusy)) return false;
  // A claim moves everything back when the clock was set back.
  return !ahead.isMovingBack && setBackBy(ahead.latest, now) === 0;
}

/** What becomes of an event whose key is known. */
export function* acceptAgain(engine: Arrivals, event: IncomingEvent): Steps<Acceptance> {
  const known = yield* engine.known(event);
  const { seq } = known;
  const sameBytes = hasSameBody(known, event.body);
  const resolution = resolve(known, { valid: event.valid, verified: event.verified, sameBytes });

  engine.counts.count('duplicate', '');
  if (resolution === 'conflict') engine.counts.count('conflict', '');
  yield* engine.saveRedeliveries(seq, oneMore(yield* engine.redeliveries(seq), event.receivedAt));
  if (resolution === 'verify') yield* engine.markVerified(seq);
  if (resolution === 'conflict') {
    yield* keepBeside(engine, seq, event, known.erased === true ? NOTHING : event.body);
  }
  if (resolution === 'replace') {
    if (!sameBytes && known.body !== null) yield* keepBeside(engine, seq, event, known.body);
    if (!event.valid) engine.counts.countType('dead', event.type);
    yield* engine.replace(seq, event, firstStateOf(event));
    // It may have been the front of another entity's queue, or of this one's.
    const { endpoint } = event;
    const queues = [...new Set([known.entity, event.entity])].map((entity) => ({ endpoint, entity }));
    yield* unparkNext(engine, queues, event.receivedAt);
  }
  return { result: 'duplicate', conflict: resolution === 'conflict', replaced: resolution === 'replace' };
}

function* keepBeside(engine: Arrivals, seq: number, { receivedAt }: IncomingEvent, body: Uint8Array): Steps<void> {
  yield* engine.saveConflict(seq, oneMore(yield* engine.conflicts(seq), receivedAt), body);
}
