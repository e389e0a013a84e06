import { firstStateOf, type DeliveredAgain, type KnownEvent, type Times } from '../../rules/accept.ts';
import { seenSince } from '../../rules/processors.ts';
import type { DeadReason, EventState, EventKey, IncomingEvent } from '../../event.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import { inOneStatement, type Write } from '../sql/statements.ts';
import { keyOrNull, slotOf, rowOf, type Tables } from '../sql/tables.ts';
import { LOST, places, STATE, timesColumn, timesIn } from '../sql/records.ts';
import { nextInQueues } from './entity-queue.ts';
import type { Scene } from './transaction.ts';

interface KnownRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly entity: string | null;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly verified: boolean;
  readonly erased: boolean;
  readonly received_ms: number;
  readonly body: Buffer | null;
  readonly body_sha256: Buffer | null;
  readonly sent_again: string | null;
  readonly other: string | null;
  readonly lost: boolean;
}

export type FoundEvent = KnownEvent & { readonly receivedAt: number };

/** The events of these keys, in their order. Their slots are held, and those that they may move to. */
export async function knownEvents({ session, t, moves }: Scene, keys: readonly EventKey[]): Promise<FoundEvent[]> {
  const rows = await session.rows<KnownRow>(
    `SELECT events.seq, events.endpoint, events.entity, ${STATE}, events.verified, events.erased_ms IS NOT NULL AS erased,
       events.received_ms, events.body, events.body_sha256, ${timesColumn('again')} AS sent_again,
       ${timesColumn('other')} AS other, ${LOST} AS lost
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (id, endpoint, place)
       CROSS JOIN ${rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint')} ${places(t)}
       LEFT JOIN ${rowOf(t.redeliveries, 'again', 'found.seq = events.seq')} ON true
       LEFT JOIN ${rowOf(t.conflicts, 'other', 'found.seq = events.seq')} ON true
     ORDER BY place`,
    [keys.map(({ id }) => id), keys.map(({ endpoint }) => endpoint)],
  );
  if (rows.length < keys.length) throw new RangeError('the event of a known key is missing');
  const lost = rows.flatMap((row) => (row.lost ? [row.seq] : []));
  if (lost.length > 0) await session.run(moves.shelveLost, [lost]);
  return rows.map((row) => ({
    seq: row.seq,
    endpoint: row.endpoint,
    entity: row.entity,
    state: row.state,
    invalid: row.dead_reason === 'invalid',
    verified: row.verified,
    erased: row.erased,
    receivedAt: row.received_ms,
    body: row.body,
    hash: row.body_sha256,
    redeliveries: timesIn(row.sent_again),
    conflicts: timesIn(row.other),
  }));
}

/** Saves what deliveries of known keys change, all changes of a kind together, and what was counted of them. */
export async function saveAgain(scene: Scene, changes: readonly DeliveredAgain[]): Promise<void> {
  if (changes.length === 0) return;
  const { session, t, moves, writes } = scene;
  const replaced = changes.flatMap(({ event: { seq }, replacement }) =>
    replacement === null ? [] : [{ seq, event: replacement }],
  );
  const together: Write[] = [
    redelivered(t, changes),
    keptBeside(t, changes),
    { text: moves.markVerified, values: [changes.flatMap(({ event, isVerified }) => (isVerified ? [event.seq] : []))] },
  ].filter(({ values: [first] }) => Array.isArray(first) && first.length > 0);
  together.push(...(await writes.countsToWrite()));
  const { text, values } = inOneStatement(together);
  await session.run(text, values);
  if (replaced.length === 0) return;
  await replace(scene, replaced);
  const left = changes.flatMap((change) => change.left).filter(({ entity }) => entity !== null);
  const at = Math.max(...replaced.map(({ event }) => event.receivedAt));
  const seqs = left.length === 0 ? [] : eventsToUnpark(await nextInQueues(scene, left, seenSince(at)));
  if (seqs.length > 0) await session.run(moves.unpark, [seqs]);
}

type Replaced = { readonly seq: number; readonly event: IncomingEvent };

async function replace({ session, t, moves, index }: Scene, replaced: readonly Replaced[]): Promise<void> {
  const seqs = (of: readonly Replaced[]) => of.map(({ seq }) => seq);
  const column = (value: (event: IncomingEvent) => unknown, of = replaced): unknown[] =>
    of.map(({ event }) => value(event));
  for (const { seq } of replaced) await index.forget(session, t, seq);
  await session.run(moves.replaceEvents, [
    seqs(replaced),
    column(({ type }) => type),
    column(({ created }) => created?.ms ?? null),
    column(({ created }) => created?.ns ?? null),
    column(({ entity }) => entity),
    column(({ endpoint, entity, id }) => slotOf(endpoint, entity, id)),
    column(({ verified }) => verified),
    column(({ body }) => Buffer.from(body)),
    column(({ trace }) => trace ?? null),
  ]);
  for (const { seq } of replaced) await index.add(session, t, seq);
  const typeKey = ({ type }: IncomingEvent) => keyOrNull(type);
  const invalid = replaced.filter(({ event }) => !event.valid);
  if (invalid.length > 0) {
    const settled = ({ event }: Replaced) => firstStateOf(event).settledAt;
    const values = [seqs(invalid), column(typeKey, invalid), invalid.map(settled)];
    await Promise.all([session.run(moves.stayInvalid, values), session.run(moves.shelveInvalid, values)]);
  }
  const valid = replaced.filter(({ event }) => event.valid);
  if (valid.length > 0) {
    const keys = [seqs(valid), column(typeKey, valid), column(({ entity }) => keyOrNull(entity), valid)];
    await Promise.all([session.run(moves.requeue, keys), session.run(moves.unshelve, [...keys, true])]);
  }
}

function redelivered(t: Tables, changes: readonly DeliveredAgain[]): Write {
  const times = changes.flatMap(({ event: { seq, redeliveries } }) =>
    redeliveries === null ? [] : [{ seq, ...redeliveries }],
  );
  return {
    text: `
      INSERT INTO ${t.redeliveries} (seq, count, first_ms, last_ms, recent)
      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
      ON CONFLICT (seq) DO UPDATE SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent`,
    values: timesColumns(times),
  };
}

function keptBeside(t: Tables, changes: readonly DeliveredAgain[]): Write {
  const kept = changes.flatMap(({ event: { seq, conflicts }, beside }) =>
    beside === null || conflicts === null ? [] : [{ seq, ...conflicts, body: Buffer.from(beside) }],
  );
  return {
    text: `
      INSERT INTO ${t.conflicts} (seq, count, first_ms, last_ms, recent, body)
      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[])
      ON CONFLICT (seq) DO UPDATE
      SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent, body = excluded.body`,
    values: [...timesColumns(kept), kept.map(({ body }) => body)],
  };
}

function timesColumns(times: readonly (Times & { readonly seq: number })[]): readonly unknown[][] {
  return [
    times.map(({ seq }) => seq),
    times.map(({ count }) => count),
    times.map(({ first }) => first),
    times.map(({ last }) => last),
    times.map(({ recent }) => JSON.stringify(recent)),
  ];
}
