import type { Acceptance, IncomingEvent } from '../event.ts';
import type { Arrivals } from './engine.ts';
import { unparkNext } from './entity-order.ts';
import { firstStateOf } from './first-state.ts';
import { resolve } from './known-event.ts';
import { oneMore } from './occurrences.ts';
import type { Steps } from './steps.ts';
import { hasSameBody } from './tombstone.ts';

const STORED: Acceptance = Object.freeze({ result: 'stored', conflict: false, replaced: false });
/** What is kept of a body that must not be: how often it came is told all the same. No event has a body of no bytes. */
const NOTHING = new Uint8Array();

/** Stores an event unless its key is known. */
export function* acceptEvent(engine: Arrivals, event: IncomingEvent): Steps<Acceptance> {
  if (!(yield* engine.insert(event, firstStateOf(event)))) return yield* acceptAgain(engine, event);
  engine.counts.countType('stored', event.type);
  if (!event.valid) engine.counts.countType('dead', event.type);
  return STORED;
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
    yield* unparkNext(engine, { endpoint, entity: known.entity }, event.receivedAt, engine.timeSlice());
    yield* unparkNext(engine, { endpoint, entity: event.entity }, event.receivedAt, engine.timeSlice());
  }
  return { result: 'duplicate', conflict: resolution === 'conflict', replaced: resolution === 'replace' };
}

function* keepBeside(engine: Arrivals, seq: number, { receivedAt }: IncomingEvent, body: Uint8Array): Steps<void> {
  yield* engine.saveConflict(seq, oneMore(yield* engine.conflicts(seq), receivedAt), body);
}
