import { InboxUnavailableError } from '../../../errors.ts';
import type { EventKey, IncomingEvent, DeadReason } from '../../event.ts';
import { type Ahead, firstStateOf, type DeliveredAgain, type KnownEvent, type Times } from '../../rules/accept.ts';
import { foldedType } from '../../rules/counted.ts';
import { eventsToUnpark } from '../../rules/entity-order.ts';
import { seenSince } from '../../rules/processors.ts';
import type { NewLease } from '../../rules/store.ts';
import type { Lease } from '../../work.ts';
import type { Session } from '../driver/session.ts';
import type { Moves } from '../moves.ts';
import { contentColumns, LOST, places, STATE, TIMES, timesIn, timesOfEvents } from '../sql/records.ts';
import { given, lists, eventOfKey, writeTogether, type Write } from '../sql/statements.ts';
import { slotOf, type Tables } from '../sql/tables.ts';
import { leased, nextInQueues } from './entity-queue.ts';
import type { Transaction } from './transaction.ts';

export interface Insertion extends IncomingEvent {
  readonly claim?: Pick<NewLease, 'now' | 'until' | 'ordered' | 'claimNumber'> | undefined;
}

/**
 * One statement stores the events whose keys are new, in their order.
 *
 * @param counted - the minute to count in, and the types that handlers name
 * @returns each stored event's number and fence; of several with one key, the first is stored
 */
export async function insertEvents(
  session: Session,
  moves: Moves,
  events: readonly Insertion[],
  counted: { readonly at: number; readonly named: ReadonlySet<string> },
): Promise<readonly (Lease | undefined)[]> {
  const insertions = events.map(({ endpoint, id, verified, receivedAt, body, valid, trace, claim, ...content }) => ({
    endpoint,
    id,
    ...contentColumns(content),
    slot: slotOf(endpoint, content.entity, id),
    verified,
    received_ms: receivedAt,
    body,
    trace: trace ?? null,
    valid,
    counted: foldedType(content.type, counted.named),
    claimed_ms: claim?.now ?? null,
    lease_until_ms: claim?.until ?? null,
    in_order: claim?.ordered ?? false,
    claim: claim?.claimNumber ?? null,
  }));
  const rows = await session.rows<(EventKey & Placed & { seq: number; fence: null }) | (Lease & { id: null })>(
    moves.insert(insertions, counted.at),
  );
  const inserted = rows.filter((row) => row.id !== null);
  assertPlaced(inserted);
  const fences = new Map(rows.filter((row) => row.id === null).map(({ seq, fence }) => [seq, fence]));
  const stored = new Map(inserted.map((row) => [keyOf(row), row.seq]));
  return events.map((event) => {
    const key = keyOf(event);
    const seq = stored.get(key);
    // The first of a key was stored, and the others are known by now.
    stored.delete(key);
    return seq === undefined ? undefined : { seq, fence: fences.get(seq) ?? 0 };
  });
}

export interface Placed {
  readonly placed: number;
}

/** A rule or trigger on the server may silently keep a row from being written. */
export function assertPlaced(rows: readonly Placed[]): void {
  if (rows.every(({ placed }) => placed === rows.length)) return;
  throw new InboxUnavailableError('FAILED', UNPLACED);
}

const UNPLACED =
  'Postgres stored an event without its row in the table queue or shelf, so hookbox rolled the insert back. A ' +
  'trigger, rule or policy on the tables of hookbox blocks the write: to find it, run npx hookbox doctor';

export function keyOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}

const AHEAD = 'endpoint, type, entity_key, created_ms, created_ns, place';

/**
 * The facts that decide which events must run before each new event. Locks the free slots of the events. Returns `undefined`
 * for an event whose slot another transaction holds, because that transaction may change the result.
 */
export async function readAhead(
  { session, t, locks }: Pick<Transaction, 'session' | 't' | 'locks'>,
  events: readonly IncomingEvent[],
): Promise<readonly (Ahead | undefined)[]> {
  const slots = events.map(({ endpoint, entity, id }) => slotOf(endpoint, entity, id));
  const same = (column: string): string => `${column} = given.entity_key AND endpoint = given.endpoint`;
  // Postgres must read after it has locked: a statement does not see commits after its start.
  const [held, rows] = await Promise.all([
    locks.takeFree(slots),
    session.rows<Pick<Ahead, 'isPaused' | 'isEntityBusy' | 'isSuperseded' | 'latest'>>(
      `SELECT (SELECT latest_ms FROM ${t.clock}) AS latest,
         EXISTS (SELECT 1 FROM ${t.pauses} WHERE endpoint = given.endpoint AND type = given.type) AS "isPaused",
         EXISTS (${leased('1', same, t)}) OR EXISTS (
           SELECT 1 FROM ${t.queue} WHERE lease_until_ms IS NULL AND entity IS NOT NULL AND ${same('entity')}
         ) AS "isEntityBusy",
         EXISTS (SELECT 1 FROM ${t.entities} AS done
           WHERE ${same('entity')} AND (done.created_ms, done.created_ns) > (given.created_ms, given.created_ns)
         ) AS "isSuperseded"
       FROM ${given(AHEAD)} ORDER BY place`,
      lists(
        AHEAD,
        events.map((event) => ({ endpoint: event.endpoint, ...contentColumns(event) })),
      ),
    ),
  ]);
  return rows.map((row, at) => {
    // New events are in the indexes for work at once, so they are never crowded.
    return held.has(slots[at] ?? NaN) ? { ...row, isCrowded: false, isMovingBack: false } : undefined;
  });
}

interface KnownRow extends Pick<KnownEvent, 'seq' | 'endpoint' | 'entity' | 'state' | 'verified' | 'body' | 'hash'> {
  readonly dead_reason: DeadReason | null;
  readonly erased: boolean;
  readonly receivedAt: number;
  readonly again: string | null;
  readonly other: string | null;
  readonly lost: boolean;
}

export type FoundEvent = KnownEvent & Pick<KnownRow, 'receivedAt'>;

/** The caller holds their slots, and the slots that they may move to. */
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

/** Saves all changes of a kind together, and the counts. */
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
  for (const { seq } of replaced) await index.forget({ session, t }, seq);
  await session.run(moves.replaceEvents(rows));
  for (const { seq } of replaced) await index.add({ session, t }, seq);
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
