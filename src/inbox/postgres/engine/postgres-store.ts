import { isCommittedAlone, foundCrash, type FoundCrash } from '../../rules/attempt.ts';
import { pauseOf, type EndpointType, type PauseRow, type StoredPause } from '../../rules/pauses.ts';
import { latestTime, setBackBy } from '../../rules/claim.ts';
import {
  NOTHING_NEXT,
  type AttemptOutcome,
  type Candidate,
  type ClaimStart,
  type ClaimState,
  type EventToRun,
  type ExpiredEvent,
  type HeldEvent,
  type LeasedEvent,
  type NewLease,
  type RunningEvent,
  type ClaimStartRequest,
  type Store,
} from '../../rules/store.ts';
import type { DeadReason, EventState } from '../../event.ts';
import type { EventKey } from '../../event.ts';
import type { Attempt, CrashedEvent, Lease } from '../../work.ts';
import { fromJson } from '../driver/session.ts';
import { contentColumns, createdOf, joined, LOST, places, STATE } from '../sql/records.ts';
import { given, lists } from '../sql/statements.ts';
import { rowOf, type Tables } from '../sql/tables.ts';
import { applyChanges } from './apply-changes.ts';
import { dueEvents, dueFacts } from './due-events.ts';
import { loadBursts } from './bursts.ts';
import { front, holding, nextColumns, nextInQueues, nextOf, type NextColumns } from './entity-queue.ts';
import { lockedRates } from './rates.ts';
import { claimLocks, type Reading, type Transaction } from './transaction.ts';

/** Times are those of the database's clock. */
export function postgresStore(transaction: Transaction): Store<'async'> {
  const { session, moves } = transaction;
  return {
    followClock: ({ now, leaseMs }) => followClock(transaction, now, leaseMs),
    // Done before the transaction (`LatestTime`): to hold the row of the clock would delay all others.
    async noteTime() {},
    // Postgres indexes an event when it stores it.
    newestSeq: async () => 0,
    indexNew: async () => false,
    startClaim: (request) => startClaim(transaction, request),
    claimState: () => claimState(transaction),
    rates: (request) => lockedRates(transaction, request),
    lockProbes: (pauses) => lockProbes(transaction, pauses),
    due: (request) => dueEvents(transaction, request),
    bursts: (events, request) => loadBursts(transaction, events, request),
    nextInQueues: (queues, handledSince) => nextInQueues(transaction, queues, handledSince),
    eventToRun: (key) => eventToRun(transaction, key),
    lease: (events, claim) => lease(transaction, events, claim),
    async held(leases, handledSince) {
      const events = await heldEvents(transaction, seqsOf(leases), handledSince);
      const bySeq = new Map(events.map((event) => [event.seq, event]));
      return leases.map(({ seq, fence }) => {
        const event = bySeq.get(seq);
        return event?.fence === fence ? event : undefined;
      });
    },
    outcomesUnder: (leases) => outcomesUnder(transaction, leases),
    async addStep({ seq, attempt }, { name, result }, now) {
      await session.run({
        text: `INSERT INTO ${transaction.t.steps} (seq, name, attempt, at_ms, result) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
        values: [seq, name, attempt, now, result],
      });
    },
    async renew(leases, until, isClosing) {
      const rows = await session.rows<Lease>(moves.renew(leases, until, isClosing));
      return leases.filter((lease) => rows.some((row) => isSame(row, lease)));
    },
    apply: (changes) => applyChanges(transaction, changes),
  };
}

export function isSame(one: Lease, other: Lease): boolean {
  return one.seq === other.seq && one.fence === other.fence;
}

function seqsOf(events: readonly { readonly seq: number }[]): readonly number[] {
  return events.map(({ seq }) => seq);
}

interface StateRow {
  readonly pauses: string | null;
  readonly isSuspectRunning: boolean;
}

const stateColumns = (t: Tables): string => `
  (SELECT json_agg(pauses)::text FROM ${t.pauses} AS pauses) AS pauses,
  EXISTS (SELECT 1 FROM ${t.queue} WHERE lease_until_ms IS NOT NULL AND crashes > 0) AS "isSuspectRunning"`;

export async function claimState({ session, t }: Reading): Promise<ClaimState> {
  return stateOf(await session.row<StateRow>(`SELECT ${stateColumns(t)}`));
}

function stateOf(row: StateRow | undefined): ClaimState {
  return {
    pauses: (fromJson(row?.pauses ?? '[]') as PauseRow[]).map(pauseOf),
    isSuspectRunning: row?.isSuspectRunning === true,
  };
}

const EXPIRED = 'lease_until_ms IS NOT NULL AND lease_until_ms <= $1::bigint';

interface StartRow extends StateRow {
  readonly latest: number | null;
  readonly expired: string | null;
}

/** In one statement, if no lease has to end. */
async function startClaim(transaction: Transaction, request: ClaimStartRequest): Promise<ClaimStart> {
  const { session, t, moves } = transaction;
  const { now, expiredBy, limit, claimNumber, lostClaims, onlyFor } = request;
  const row = await session.row<StartRow>(
    `WITH locked AS MATERIALIZED (${claimLocks('$5')}), indexed AS (${moves.indexNew('$3')} AND $4::boolean)
     SELECT (SELECT count(*) FROM locked), (SELECT latest_ms FROM ${t.clock}) AS latest, ${stateColumns(t)}, (
       SELECT json_agg(found)::text FROM (
         SELECT seq, slot FROM ${t.queue} WHERE ${EXPIRED} ORDER BY lease_until_ms LIMIT $2
       ) AS found
     ) AS expired`,
    [
      expiredBy,
      limit,
      now,
      // A claim of one event waits for its slot below, so it must not hold rows of others.
      onlyFor === undefined && lostClaims.length === 0,
      [...new Set([claimNumber, ...lostClaims])],
    ],
  );
  const isSetBack = setBackBy(row?.latest ?? 0, now) > 0;
  const lost = lostClaims.length === 0 || isSetBack ? NONE_LOST : await lostLeases(transaction, request);
  const found = JSON.parse(row?.expired ?? '[]') as SeqInSlot[];
  const expired = onlyFor === undefined || found.length === 0 ? found : await expiredFor(transaction, request, onlyFor);
  return {
    ...stateOf(row),
    ...lost,
    isSetBack,
    expired: isSetBack ? [] : await expiredEvents(transaction, request, expired),
  };
}

interface SeqInSlot {
  readonly seq: number;
  readonly slot: number;
}

const NONE_LOST = { lost: [], crashed: [] } as const;

/** Takes the slots in one statement: one after another, two claims could deadlock. */
async function lostLeases(
  transaction: Transaction,
  { lostClaims, handledSince }: ClaimStartRequest,
): Promise<Pick<ClaimStart, 'lost' | 'crashed'>> {
  const { session, t, locks } = transaction;
  const crashed = await foundBy(transaction, lostClaims);
  const leases = await session.rows<Lease>(
    `SELECT seq, fence FROM ${t.queue}
     WHERE lease_until_ms IS NOT NULL AND NOT processed AND claim = ANY($1::bigint[])`,
    [lostClaims],
  );
  if (leases.length === 0) return { lost: [], crashed };
  await locks.takeOf(seqsOf(leases));
  const events = await heldEvents(transaction, seqsOf(leases), handledSince);
  return { lost: events.filter((event) => leases.some((lease) => isSame(lease, event))), crashed };
}

/** Locks the slot of the event. */
async function expiredFor(
  { session, t, locks }: Transaction,
  { expiredBy, limit }: ClaimStartRequest,
  event: EventKey,
): Promise<readonly SeqInSlot[]> {
  await locks.takeOfKeys([event]);
  const one = `SELECT seq FROM ${t.events} WHERE id = $3 AND endpoint = $4`;
  return session.rows<SeqInSlot>(
    `SELECT queue.seq, queue.slot FROM ${t.queue} AS queue
     WHERE ${EXPIRED} AND (
       seq = (${one}) OR (entity = (SELECT entity FROM ${t.queue} WHERE seq = (${one})) AND endpoint = $4)
     ) LIMIT $2`,
    [expiredBy, limit, event.id, event.endpoint],
  );
}

async function expiredEvents(
  { session, t, locks }: Transaction,
  { expiredBy, handledSince }: ClaimStartRequest,
  found: readonly SeqInSlot[],
): Promise<readonly ExpiredEvent[]> {
  if (found.length === 0) return [];
  const free = await locks.takeFree(found.map(({ slot }) => slot));
  const ours = found.filter(({ slot }) => free.has(slot));
  const rows = await session.rows<HeldRow & Pick<ExpiredEvent, 'id' | 'crashes' | 'bytes'>>(
    `WITH held AS MATERIALIZED (
       SELECT ${runningColumns(t)} FROM ${t.queue} AS queue WHERE ${EXPIRED} AND seq = ANY($3::bigint[])
     ), ${holding(t, 'held', '$2')}
     SELECT ${heldColumns(t)}, 0 AS bytes, (SELECT id FROM ${t.events} AS events WHERE events.seq = held.seq LIMIT 1) AS id
     FROM held JOIN holding ON holding.endpoint = held.endpoint ${front(t, 'held')} ORDER BY held.lease_until_ms`,
    [expiredBy, handledSince, seqsOf(ours)],
  );
  return rows.map((row) => ({ ...row, ...heldOf(row) }));
}

interface RunningRow extends Omit<RunningEvent, 'created'> {
  readonly created_ms: number | null;
  readonly created_ns: number | null;
}

type HeldRow = RunningRow & NextColumns & Pick<HeldEvent, 'holdsBack'>;

/** The LIMIT keeps Postgres from searching all marks. */
const runningColumns = (t: Tables): string => `
  seq, fence, endpoint, type, entity, created_ms, created_ns, attempts AS attempt, trigger, claimed_ms AS "claimedAt", yields,
  processed AS "isProcessed", closing AS "isClosing", crashes, lease_until_ms,
  (SELECT true FROM ${t.effects} AS effects WHERE effects.seq = queue.seq AND effects.fence = queue.fence LIMIT 1)
    IS NOT NULL AS "hasEffect"`;

const heldColumns = (t: Tables): string =>
  `held.*, (holding.every OR held.type = ANY(holding.types)) AS "holdsBack", ${nextColumns(t, 'held')}`;

async function heldEvents(
  { session, t }: Transaction,
  seqs: readonly number[],
  handledSince: number | null,
): Promise<readonly HeldEvent[]> {
  const held = `SELECT ${runningColumns(t)} FROM ${t.queue} AS queue WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NOT NULL`;
  if (handledSince === null) {
    const rows = await session.rows<RunningRow>(held, [seqs]);
    return rows.map((row) => ({ ...row, created: createdOf(row), next: NOTHING_NEXT, holdsBack: false }));
  }
  const rows = await session.rows<HeldRow>(
    `WITH held AS MATERIALIZED (${held}), ${holding(t, 'held', '$2')}
     SELECT ${heldColumns(t)} FROM held JOIN holding ON holding.endpoint = held.endpoint ${front(t, 'held')}`,
    [seqs, handledSince],
  );
  return rows.map(heldOf);
}

function heldOf(row: HeldRow): HeldEvent {
  return { ...row, created: createdOf(row), next: nextOf(row) };
}

interface RowToRun extends Omit<EventToRun, 'created' | 'hasLease' | 'isSuperseded' | 'isInvalid'> {
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly lost: boolean;
}

async function eventToRun({ session, t, moves, locks }: Transaction, key: EventKey): Promise<EventToRun | undefined> {
  await locks.takeOfKeys([key]);
  const row = await session.row<RowToRun>(
    `SELECT events.seq, events.endpoint, events.type, events.entity, events.created_ms, events.created_ns, 0 AS bytes,
       coalesce(queue.crashes, shelf.crashes, 0) AS crashes, ${STATE}, events.body IS NULL AS "isPruned", ${LOST} AS lost
     FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
    [key.id, key.endpoint],
  );
  if (row === undefined) return undefined;
  if (row.lost) await session.run(moves.shelveLost([row.seq]));
  const created = createdOf(row);
  const { entity_key: entity } = contentColumns({ ...row, created });
  const facts = await session.row<Pick<EventToRun, 'hasLease' | 'isSuperseded'>>(
    `SELECT ${dueFacts(t)} FROM (
       SELECT $1::text AS entity, $2::text AS endpoint, $3::bigint AS created_ms, $4::integer AS created_ns
     ) AS due`,
    [entity, row.endpoint, row.created_ms, row.created_ns],
  );
  return { hasLease: false, isSuperseded: false, ...row, ...facts, created, isInvalid: row.dead_reason === 'invalid' };
}

interface LeasedRow extends Omit<LeasedEvent, 'lease' | 'receivedAt' | 'attempt' | 'trace'>, Lease {
  readonly attempts: number;
  readonly received_ms: number;
  readonly trace: string | null;
}

async function lease(
  { session, moves }: Transaction,
  events: readonly (Candidate & Partial<Pick<EventToRun, 'state'>>)[],
  { now, until, claimNumber, ordered, exclusive }: NewLease,
): Promise<readonly LeasedEvent[]> {
  const shelved = events.filter(({ state }) => state === 'dead' || state === 'ignored');
  const keys = shelved.map((event) => ({ seq: event.seq, ...contentColumns(event) }));
  await session.run(moves.unshelve(keys, false));
  const rows = await session.rows<LeasedRow>(moves.claim(seqsOf(events), now, until, ordered, exclusive, claimNumber));
  const bySeq = new Map(rows.map((row) => [row.seq, row]));
  return events.map(({ seq }) => {
    const row = bySeq.get(seq);
    if (row === undefined) throw new RangeError('a claimed event is not in the queue');
    return leasedOf(row);
  });
}

function leasedOf({ seq, fence, attempts, received_ms: receivedMs, trace, ...event }: LeasedRow): LeasedEvent {
  return {
    lease: { seq, fence },
    ...event,
    receivedAt: new Date(receivedMs),
    attempt: attempts,
    ...(trace !== null && { trace }),
  };
}

async function outcomesUnder(
  { session, t }: Transaction,
  leases: readonly Lease[],
): Promise<readonly (AttemptOutcome | undefined)[]> {
  const rows = await session.rows<Lease & Pick<Attempt, 'outcome'> & { readonly error_message: string | null }>(
    `SELECT DISTINCT ON (seq, fence) seq, fence, outcome, error_message
     FROM ${given('seq, fence')} JOIN ${t.attempts} AS attempts USING (seq, fence)
     WHERE attempts.seq = ANY($1::bigint[]) AND found_by IS NULL ORDER BY seq, fence, number DESC`,
    lists('seq, fence', leases),
  );
  return leases.map((lease) => {
    const row = rows.find((row) => isSame(row, lease));
    return row && isCommittedAlone(row.error_message) ? 'committed alone' : row?.outcome;
  });
}

async function foundBy({ session, t }: Transaction, numbers: readonly number[]): Promise<readonly CrashedEvent[]> {
  const rows = await session.rows<FoundCrash & EventKey>(
    `SELECT endpoint, id, type, attempt, outcome, ended_ms, error_name, error_message, error_stack, due_ms, dead_reason,
       CASE WHEN attempts = attempt THEN state END AS state
     FROM (
       SELECT events.endpoint, events.id, events.type, ended.number AS attempt, ended.outcome, ended.seq, ended.ended_ms, ended.error_name,
         ended.error_message, ended.error_stack, queue.due_ms, coalesce(queue.attempts, shelf.attempts) AS attempts, ${STATE}
       FROM ${t.attempts} AS ended CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = ended.seq')} ${places(t)}
       WHERE ended.found_by = ANY($1::bigint[])
     ) AS reported ORDER BY ended_ms, seq`,
    [numbers],
  );
  return rows.map(foundCrash);
}

/**
 * See rules/claim.ts: a server with a slow clock may have taken over. Needs no batches, because no event loop waits;
 * claims wait for the row of the clock.
 *
 * @returns that no times are left to move
 */
async function followClock({ session, t, moves }: Transaction, now: number, leaseMs: number): Promise<false> {
  const latest = `SELECT latest_ms AS ms FROM ${t.clock}`;
  const clock = await session.row<{ ms: number }>(latest);
  if (setBackBy(clock?.ms ?? 0, now) === 0) return false;
  const locked = await session.row<{ ms: number }>(`${latest} FOR UPDATE`);
  const back = setBackBy(locked?.ms ?? 0, now);
  if (back === 0) return false; // another claim has done it
  await session.run(moves.moveLeases, [back, now + leaseMs]);
  await session.run(moves.moveDue, [back, now]);
  for (const table of [t.handling, t.processors]) {
    await session.run(`UPDATE ${table} SET seen_ms = seen_ms - $1::bigint WHERE seen_ms > $2`, [back, now]);
  }
  await session.run(
    `UPDATE ${t.pauses} SET until_ms = greatest($2::bigint, until_ms - $1::bigint) WHERE until_ms > $2`,
    [back, now],
  );
  await session.run(`UPDATE ${t.clock} SET latest_ms = $1`, [latestTime(0, now)]);
  return false;
}

/**
 * The lock of the table comes first: a settlement that has it may wait for a row. A type whose probe another claim is
 * taking is left out.
 */
async function lockProbes(
  { session, t }: Transaction,
  pauses: readonly StoredPause[],
): Promise<readonly EndpointType[]> {
  await session.exec(`LOCK TABLE ${t.pauses} IN ROW EXCLUSIVE MODE`);
  const select = `SELECT 1 FROM ${t.pauses} WHERE endpoint = $1 AND type = $2 AND failures IS NOT NULL AND until_ms = $3
    FOR UPDATE SKIP LOCKED`;
  const locked: EndpointType[] = [];
  for (const { endpoint, type, until } of pauses) {
    const row = await session.row(select, [endpoint, type, until?.getTime() ?? 0]);
    if (row !== undefined) locked.push({ endpoint, type });
  }
  return locked;
}
