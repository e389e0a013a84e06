import type { InboxModel } from './inbox-model.ts';
import { holds, nameOf, type ModelEvent } from './model-event.ts';
import type { StoredRow } from './stores.ts';
import { must } from './violation.ts';

const NOTICED_MS = 200;

/** @param waitedMs - how long the last call really took */
export function compareStore(model: InboxModel, rows: readonly StoredRow[], waitedMs = 0): void {
  const { events } = model;
  const counts = () => `${rows.length} stored, ${events.length} accepted`;
  must(rows.length >= events.length, 'stored ⊇ acknowledged', counts);
  must(rows.length === events.length, 'stored once', counts);
  for (const row of rows) {
    const { seq, state, deadReason, entity, createdMs, body, leased, work } = row;
    const id = nameOf(row);
    const event = model.numbered(seq);
    must(event?.name === id, 'stored once', () => `${id} is not the one that was accepted as no. ${seq}`);
    const isMoved = state !== event.state || deadReason !== event.deadReason;
    const isRead = entity === event.entity && createdMs === (event.created?.ms ?? null);
    const isLost = holds(event) && (leased === false || (event.state === 'processing' && state !== 'processing'));
    must(!isLost, 'a lease that is renewed holds', () => `${id} is ${state} though its lease has not run out`);
    must(!isMoved && isRead, 'the store agrees with the model', () => {
      const expected = [event.state, event.deadReason, event.entity, event.created?.ms].join();
      return `${id}: ${[state, deadReason, entity, createdMs].join()}, expected ${expected}`;
    });
    const isSame = body === null ? event.pruned : !event.pruned && Buffer.compare(body, event.body) === 0;
    must(isSame, 'the store agrees with the model', () => `${id} has another body`);
    if (work === null) continue;
    if (event.setBackAt !== null || event.fence === 0) follow(event, work);
    if (waitedMs > NOTICED_MS) addWait(event, work, waitedMs);
    const isDue = state !== 'pending' || work.dueAt === event.dueAt;
    const isWorked = isDue && work.failures === event.failures && work.crashes === event.crashes;
    must(
      isWorked,
      'the store agrees with the model',
      () => `${id}: ${JSON.stringify(work)}, not due at ${event.dueAt}`,
    );
    if (!holds(event)) continue;
    const isLeased = work.fence === event.fence && work.leaseUntil === event.leaseUntil;
    must(isLeased, 'a lease that is renewed holds', () => `${id}: ${JSON.stringify(work)}, not ${event.leaseUntil}`);
  }
}

/** Where the clock was set back, what was written before it is moved back, and never forwards. */
function follow(event: ModelEvent, { dueAt, leaseUntil }: NonNullable<StoredRow['work']>): void {
  event.dueAt = Math.min(event.dueAt, dueAt);
  event.leaseUntil = Math.min(event.leaseUntil, leaseUntil ?? Infinity);
}

function addWait(event: ModelEvent, { dueAt, leaseUntil }: NonNullable<StoredRow['work']>, waitedMs: number): void {
  if (dueAt > event.dueAt && dueAt <= event.dueAt + waitedMs) event.dueAt = dueAt;
  const until = leaseUntil ?? 0;
  if (until > event.leaseUntil && until <= event.leaseUntil + waitedMs) event.leaseUntil = until;
}
