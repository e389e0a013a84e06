import { firstStateOf, type DeliveredAgain, type KnownEvent, type Times } from '../../rules/accept.ts';
import { seenSince } from '../../rules/processors.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import type { DeadReason } from '../../event.ts';
import type { EventKey, IncomingEvent } from '../../event.ts';
import { contentColumns, LOST, places, STATE, TIMES, timesIn, timesOfEvents } from '../sql/records.ts';
import { eventOfKey, given, lists, writeTogether, type Write } from '../sql/statements.ts';
import { slotOf, type Tables } from '../sql/tables.ts';
import { nextInQueues } from './entity-queue.ts';
import type { Transaction } from './transaction.ts';

interface KnownRow extends Pick<KnownEvent, 'seq' | 'endpoint' | 'entity' | 'state' | 'verified' | 'body' | 'hash'> {
  readonly dead_reason: DeadReason | null;
  readonly erased: boolean;
  readonly receivedAt: number;
  readonly again: string | null;
  readonly other: string | null;
  readonly lost: boolean;
}

export type FoundEvent = KnownEvent & Pick<KnownRow, 'receivedAt'>;

/** The events of these keys, in their order. The caller holds their slots, and the slots that they may move to. */
export async function knownEvents(
  { session, t, moves }: Transaction,
  keys: readonly EventKey[],
): Promise<FoundEvent[]> {
  const rows = await session.rows<KnownRow>(
    `SELECT events.seq, events.endpoint, events.entity, ${STATE}, events.verified, events.erased_ms IS NOT NULL AS erased,
       events.received_ms AS "receivedAt", events.body, events.body_sha256 AS hash, ${TIMES.join(', ')}, ${LOST} AS lost
     FROM ${eventOfKey(t, 'id, endpoint, place')} ${places(t)} ${timesOfEvents(t)} ORDER BY place`,
    lists('id, endpoint', keys),
  );
  if (rows.length < keys.length) throw new RangeError('the event of a known key is missing');
  await session.run(moves.shelveLost(rows.filter(({ lost }) => lost).map(({ seq }) => seq)));
  return rows.map(({ dead_reason: deadReason, again, other, ...event }) => ({
    ...event,
    invalid: deadReason === 'invalid',
    redeliveries: timesIn(again),
    conflicts: timesIn(other),
  }));
}

/** Saves what deliveries of known keys change, all changes of a kind together, and the counts. */
export async function saveAgain(transaction: Transaction, changes: readonly DeliveredAgain[]): Promise<void> {
  if (changes.length === 0) return;
  const { session, t, moves } = transaction;
  const verified = changes.flatMap(({ event, isVerified }) => (isVerified ? [event.seq] : []));
  await writeTogether(session, [
    redelivered(t, changes),
    keptBeside(t, changes),
    moves.markVerified(verified),
    ...(await transaction.countsToWrite()),
  ]);
  const replaced = changes.flatMap(({ event: { seq }, replacement }) =>
    replacement === null ? [] : [{ seq, event: replacement }],
  );
  if (replaced.length === 0) return;
  await replace(transaction, replaced);
  const left = changes.flatMap((change) => change.left).filter(({ entity }) => entity !== null);
  if (left.length === 0) return;
  const at = Math.max(...replaced.map(({ event }) => event.receivedAt));
  await session.run(moves.unpark(eventsToUnpark(await nextInQueues(transaction, left, seenSince(at)))));
}

type Replaced = { readonly seq: number; readonly event: IncomingEvent };

async function replace({ session, t, moves, index }: Transaction, replaced: readonly Replaced[]): Promise<void> {
  const rows = replaced.map(({ seq, event }) => ({
    seq,
    ...contentColumns(event),
    slot: slotOf(event.endpoint, event.entity, event.id),
    verified: event.verified,
    body: event.body,
    trace: event.trace ?? null,
    settled_ms: firstStateOf(event).settledAt,
    valid: event.valid,
  }));
  for (const { seq } of replaced) await index.forget(session, t, seq);
  await session.run(moves.replaceEvents(rows));
  for (const { seq } of replaced) await index.add(session, t, seq);
  const invalid = rows.filter(({ valid }) => !valid);
  await Promise.all([session.run(moves.stayInvalid(invalid)), session.run(moves.shelveInvalid(invalid))]);
  const valid = rows.filter(({ valid }) => valid);
  await Promise.all([session.run(moves.requeue(valid)), session.run(moves.unshelve(valid, true))]);
}

const TIMES_COLUMNS = 'seq, count, first_ms, last_ms, recent';

function redelivered(t: Tables, changes: readonly DeliveredAgain[]): Write {
  const times = changes.flatMap(({ event: { seq, redeliveries } }) =>
    redeliveries === null ? [] : [timesColumns(seq, redeliveries)],
  );
  return {
    text: `
      INSERT INTO ${t.redeliveries} (${TIMES_COLUMNS}) SELECT * FROM ${given(TIMES_COLUMNS)}
      ON CONFLICT (seq) DO UPDATE SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent`,
    values: lists(TIMES_COLUMNS, times),
  };
}

function keptBeside(t: Tables, changes: readonly DeliveredAgain[]): Write {
  const columns = `${TIMES_COLUMNS}, body` as const;
  const kept = changes.flatMap(({ event: { seq, conflicts }, beside: body }) =>
    body === null || conflicts === null ? [] : [{ ...timesColumns(seq, conflicts), body }],
  );
  return {
    text: `
      INSERT INTO ${t.conflicts} (${columns}) SELECT * FROM ${given(columns)}
      ON CONFLICT (seq) DO UPDATE
      SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent, body = excluded.body`,
    values: lists(columns, kept),
  };
}

function timesColumns(seq: number, { count, first, last, recent }: Times) {
  return { seq, count, first_ms: first, last_ms: last, recent: JSON.stringify(recent) };
}
