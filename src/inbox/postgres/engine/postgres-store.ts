import type { EventKey, DeadReason, EventState } from '../../event.ts';
import { isCommittedAlone, foundCrash, type FoundCrash } from '../../rules/attempt.ts';
import { setBackBy, latestTime } from '../../rules/claim.ts';
import type { Attempt, CrashedEvent, Lease } from '../../work.ts';
import { pauseOf, type PauseRow } from '../../rules/pauses.ts';
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
  type StartAsked,
  type NewLease,
  type RunningEvent,
  type Store,
} from '../../rules/store.ts';
import { fromJson } from '../driver/session.ts';
import { createdOf, joined, LOST, places, STATE } from '../sql/records.ts';
import { keyOrNull, rowOf, type Tables } from '../sql/tables.ts';
import { applyChanges } from './apply-changes.ts';
import { dueEvents, hasLease, isSuperseded, type CandidateRow } from './due-events.ts';
import { front, holding, nextColumns, nextOf, type NextColumns } from './entity-queue.ts';
import { claimLocks, type Scene } from './transaction.ts';

interface LeasedRow {
  readonly seq: number;
  readonly fence: number;
  readonly attempts: number;
  readonly failures: number;
  readonly endpoint: string;
  readonly id: string;
  readonly body: Buffer;
  readonly verified: boolean;
  readonly received_ms: number;
  readonly trace: string | null;
}

interface RunningRow extends Omit<CandidateRow, 'type'> {
  readonly fence: number;
  readonly type: string;
  readonly attempts: number;
  readonly trigger: Attempt['trigger'];
  readonly claimed_ms: number;
  readonly yields: boolean;
  readonly has_effect: boolean;
  readonly processed: boolean;
  readonly closing: boolean;
}

interface HeldRow extends RunningRow, NextColumns {
  readonly holds_back: boolean;
}

/** Of an event under a lease. The LIMIT keeps the marker from being looked for among all markers. */
const runningColumns = (t: Tables): string => `
  seq, fence, endpoint, type, entity, created_ms, created_ns, attempts, trigger, claimed_ms, yields, processed, closing, crashes,
  lease_until_ms,
  (SELECT true FROM ${t.effects} AS effects WHERE effects.seq = queue.seq AND effects.fence = queue.fence LIMIT 1)
    IS NOT NULL AS has_effect`;

/** Claims and settlements on the tables of a schema, in one transaction. Times are those of the database's clock. */
export function postgresStore(scene: Scene): Store<'async'> {
  const { session, moves } = scene;
  return {
    followClock: ({ now, leaseMs }) => followClock(scene, now, leaseMs),
    // Before the transaction (`LatestTime`): a transaction that held the row of the clock would delay all others.
    async noteTime() {},
    // An event is in the indexes that claims read as soon as it is stored.
    newestSeq: async () => 0,
    indexNew: async () => false,
    startClaim: (asked) => startClaim(scene, asked),
    claimState: () => claimState(scene),
    due: (asked) => dueEvents(scene, asked),
    eventToRun: (key) => eventToRun(scene, key),
    lease: (events, claim) => lease(scene, events, claim),
    async held(leases, handledSince) {
      const events = await heldEvents(
        scene,
        leases.map(({ seq }) => seq),
        handledSince,
      );
      const bySeq = new Map(events.map((event) => [event.seq, event]));
      return leases.map(({ seq, fence }) => {
        const event = bySeq.get(seq);
        return event?.fence === fence ? event : undefined;
      });
    },
    outcomesUnder: (leases) => outcomesUnder(scene, leases),
    async renew(leases, until, isClosing) {
      const rows = await session.rows<Lease>(moves.renew, [
        leases.map(({ seq }) => seq),
        leases.map(({ fence }) => fence),
        until,
        isClosing,
      ]);
      return leases.filter((one) => rows.some(({ seq, fence }) => seq === one.seq && fence === one.fence));
    },
    apply: (changes) => applyChanges(scene, changes),
  };
}

interface StateRow {
  readonly pauses: string | null;
  readonly suspect: boolean;
}

interface StartRow extends StateRow {
  readonly latest_ms: number | null;
  /** JSON; `null` for none */
  readonly expired: string | null;
}

const stateColumns = (t: Tables): string => `
  (SELECT json_agg(pauses)::text FROM ${t.pauses} AS pauses) AS pauses,
  EXISTS (SELECT 1 FROM ${t.queue} WHERE lease_until_ms IS NOT NULL AND crashes > 0) AS suspect`;

const EXPIRED = 'lease_until_ms IS NOT NULL AND lease_until_ms <= $1::bigint';

export async function claimState({ session, t }: Pick<Scene, 'session' | 't'>): Promise<ClaimState> {
  return stateOf(await session.row<StateRow>(`SELECT ${stateColumns(t)}`));
}

function stateOf(row: StateRow | undefined): ClaimState {
  return {
    pauses: (fromJson(row?.pauses ?? '[]') as PauseRow[]).map(pauseOf),
    isSuspectRunning: row?.suspect === true,
  };
}

/** In one statement, if no lease has to end. */
async function startClaim(scene: Scene, asked: StartAsked): Promise<ClaimStart> {
  const { session, t, moves } = scene;
  const { now, expiredBy, limit, claimNumber, lostClaims, onlyFor } = asked;
  const row = await session.row<StartRow>(
    `WITH locked AS MATERIALIZED (${claimLocks('$5')}),
     indexed AS (${moves.indexNew.replaceAll('$1', '$3')} AND $4::boolean)
     SELECT (SELECT count(*) FROM locked), (SELECT latest_ms FROM ${t.clock}) AS latest_ms, ${stateColumns(t)}, (
       SELECT json_agg(found)::text FROM (
         SELECT seq, slot FROM ${t.queue} WHERE ${EXPIRED} ORDER BY lease_until_ms LIMIT $2
       ) AS found
     ) AS expired`,
    // A claim of one event waits for its slot below, so it must not hold rows of others.
    [
      expiredBy,
      limit,
      now,
      onlyFor === undefined && lostClaims.length === 0,
      [...new Set([claimNumber, ...lostClaims])],
    ],
  );
  const isSetBack = setBackBy(row?.latest_ms ?? 0, now) > 0;
  const lost = lostClaims.length === 0 || isSetBack ? NONE_LOST : await lostLeases(scene, asked);
  const found = JSON.parse(row?.expired ?? '[]') as SeqInSlot[];
  const expired = onlyFor === undefined || found.length === 0 ? found : await expiredFor(scene, asked, onlyFor);
  return {
    ...stateOf(row),
    ...lost,
    isSetBack,
    expired: isSetBack ? [] : await expiredEvents(scene, asked, expired),
  };
}

interface SeqInSlot {
  readonly seq: number;
  readonly slot: number;
}

const NONE_LOST = { lost: [], crashed: [] } as const;

/** What lost claims have leased and found. Takes the slots in one statement: one after another, two claims could deadlock. */
async function lostLeases(
  scene: Scene,
  { lostClaims, handledSince }: StartAsked,
): Promise<Pick<ClaimStart, 'lost' | 'crashed'>> {
  const { session, t, locks } = scene;
  const crashed = await foundBy(scene, lostClaims);
  const leases = await session.rows<Lease>(
    `SELECT seq, fence FROM ${t.queue}
     WHERE lease_until_ms IS NOT NULL AND NOT processed AND claim = ANY($1::bigint[])`,
    [lostClaims],
  );
  if (leases.length === 0) return { lost: [], crashed };
  const seqs = leases.map(({ seq }) => seq);
  await locks.takeOf(seqs);
  const events = await heldEvents(scene, seqs, handledSince);
  const lost = events.filter(({ seq, fence }) => leases.some((lease) => lease.seq === seq && lease.fence === fence));
  return { lost, crashed };
}

/** The expired leases of one event and of its entity, whose slot is held from now on. */
async function expiredFor(
  { session, t, locks }: Scene,
  { expiredBy, limit }: StartAsked,
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

/** Locks events as far as no other transaction has them, and reads them again. */
async function expiredEvents(
  { session, t, locks }: Scene,
  { expiredBy, handledSince }: StartAsked,
  found: readonly SeqInSlot[],
): Promise<readonly ExpiredEvent[]> {
  if (found.length === 0) return [];
  const free = await locks.takeFree(found.map(({ slot }) => slot));
  const ours = found.filter(({ slot }) => free.has(slot)).map(({ seq }) => seq);
  const rows = await session.rows<HeldRow & { readonly id: string; readonly crashes: number }>(
    `WITH held AS MATERIALIZED (
       SELECT ${runningColumns(t)} FROM ${t.queue} AS queue WHERE ${EXPIRED} AND seq = ANY($3::bigint[])
     ), ${holding(t, 'held', '$2')}
     SELECT held.*, ${HOLDS_BACK}, ${nextColumns(t, 'held')},
       (SELECT id FROM ${t.events} AS events WHERE events.seq = held.seq LIMIT 1) AS id
     FROM held JOIN holding ON holding.endpoint = held.endpoint ${front(t, 'held')} ORDER BY held.lease_until_ms`,
    [expiredBy, handledSince, ours],
  );
  return rows.map((row) => ({ ...heldOf(row), id: row.id, crashes: row.crashes, bytes: 0 }));
}

const HOLDS_BACK = '(holding.every OR held.type = ANY(holding.types)) AS holds_back';

/** The events under a lease among these, whose slots are held, with what comes next in their queues. */
async function heldEvents(
  { session, t }: Scene,
  seqs: readonly number[],
  handledSince: number | null,
): Promise<readonly HeldEvent[]> {
  const held = `SELECT ${runningColumns(t)} FROM ${t.queue} AS queue WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NOT NULL`;
  if (handledSince === null) {
    const rows = await session.rows<RunningRow>(held, [seqs]);
    return rows.map((row) => ({ ...runningOf(row), next: NOTHING_NEXT, holdsBack: false }));
  }
  const rows = await session.rows<HeldRow>(
    `WITH held AS MATERIALIZED (${held}), ${holding(t, 'held', '$2')}
     SELECT held.*, ${HOLDS_BACK}, ${nextColumns(t, 'held')}
     FROM held JOIN holding ON holding.endpoint = held.endpoint ${front(t, 'held')}`,
    [seqs, handledSince],
  );
  return rows.map(heldOf);
}

interface RowToRun extends CandidateRow {
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly pruned: boolean;
  readonly lost: boolean;
}

/** Its slot is held until the transaction ends. */
async function eventToRun({ session, t, moves, locks }: Scene, key: EventKey): Promise<EventToRun | undefined> {
  await locks.takeOfKeys([key]);
  const row = await session.row<RowToRun>(
    `SELECT events.seq, events.endpoint, events.type, events.entity, events.created_ms, events.created_ns,
       coalesce(queue.crashes, shelf.crashes, 0) AS crashes, ${STATE}, events.body IS NULL AS pruned,
       ${LOST} AS lost
     FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
    [key.id, key.endpoint],
  );
  if (row === undefined) return undefined;
  if (row.lost) await session.run(moves.shelveLost, [[row.seq]]);
  const entity = row.entity;
  const facts = await session.row<{ has_lease: boolean; superseded: boolean }>(
    `SELECT ${hasLease(t)} AS has_lease, ${isSuperseded(t)} AS superseded FROM (
       SELECT $1::text AS entity, $2::text AS endpoint, $3::bigint AS created_ms, $4::integer AS created_ns
     ) AS due`,
    [keyOrNull(entity), row.endpoint, row.created_ms, row.created_ns],
  );
  return {
    seq: row.seq,
    endpoint: row.endpoint,
    type: row.type,
    entity,
    created: createdOf(row),
    crashes: row.crashes,
    bytes: 0,
    hasLease: facts?.has_lease === true,
    isSuperseded: facts?.superseded === true,
    state: row.state,
    isInvalid: row.dead_reason === 'invalid',
    isPruned: row.pruned,
  };
}

async function lease(
  { session, moves }: Scene,
  events: readonly (Candidate & Partial<Pick<EventToRun, 'state'>>)[],
  { now, until, claimNumber, ordered, exclusive }: NewLease,
): Promise<readonly LeasedEvent[]> {
  for (const { seq, type, entity, state } of events) {
    if (state !== 'dead' && state !== 'ignored') continue;
    await session.run(moves.unshelve, [[seq], [keyOrNull(type)], [keyOrNull(entity)], false]);
  }
  const seqs = events.map(({ seq }) => seq);
  const rows = await session.rows<LeasedRow>(moves.claim, [seqs, now, until, ordered, exclusive, claimNumber]);
  const bySeq = new Map(rows.map((row) => [row.seq, row]));
  return seqs.map((seq) => {
    const row = bySeq.get(seq);
    if (row === undefined) throw new RangeError('a claimed event is not in the queue');
    return leasedOf(row);
  });
}

async function outcomesUnder(
  { session, t }: Scene,
  leases: readonly Lease[],
): Promise<readonly (AttemptOutcome | undefined)[]> {
  const rows = await session.rows<Lease & Pick<Attempt, 'outcome'> & { readonly error_message: string | null }>(
    `SELECT DISTINCT ON (seq, fence) seq, fence, outcome, error_message
     FROM unnest($1::bigint[], $2::bigint[]) AS given (seq, fence) JOIN ${t.attempts} AS attempts USING (seq, fence)
     WHERE attempts.seq = ANY($1::bigint[]) AND found_by IS NULL ORDER BY seq, fence, number DESC`,
    [leases.map(({ seq }) => seq), leases.map(({ fence }) => fence)],
  );
  return leases.map((one) => {
    const row = rows.find(({ seq, fence }) => seq === one.seq && fence === one.fence);
    return row && isCommittedAlone(row.error_message) ? 'committed alone' : row?.outcome;
  });
}

/** What claims have found crashed, and where the events stand by now. */
async function foundBy({ session, t }: Scene, numbers: readonly number[]): Promise<readonly CrashedEvent[]> {
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
  return rows.map((row) =>
    foundCrash({
      ...row,
      endpoint: row.endpoint,
      id: row.id,
      type: row.type,
      error_name: row.error_name,
      error_message: row.error_message,
      error_stack: row.error_stack,
    }),
  );
}

function leasedOf(row: LeasedRow): LeasedEvent {
  return {
    lease: { seq: row.seq, fence: row.fence },
    endpoint: row.endpoint,
    id: row.id,
    body: row.body,
    verified: row.verified,
    receivedAt: new Date(row.received_ms),
    attempt: row.attempts,
    failures: row.failures,
    ...(row.trace !== null && { trace: row.trace }),
  };
}

function heldOf(row: HeldRow): HeldEvent {
  return { ...runningOf(row), next: nextOf(row), holdsBack: row.holds_back };
}

function runningOf(row: RunningRow): RunningEvent {
  return {
    seq: row.seq,
    fence: row.fence,
    endpoint: row.endpoint,
    type: row.type,
    entity: row.entity,
    created: createdOf(row),
    attempt: row.attempts,
    trigger: row.trigger,
    claimedAt: row.claimed_ms,
    yields: row.yields,
    hasEffect: row.has_effect,
    isProcessed: row.processed,
    isClosing: row.closing,
  };
}

/**
 * Moves back what was written before the clock was set back (rules/claim.ts): where times are the database's, when
 * another machine has taken over whose clock is late. In one statement each and not in batches as on SQLite: nobody's event loop
 * stands still meanwhile, and whoever claims at the same time waits for the row of the clock.
 *
 * @returns that nothing is left to move
 */
async function followClock({ session, t, moves }: Scene, now: number, leaseMs: number): Promise<false> {
  const clock = await session.row<{ latest_ms: number }>(`SELECT latest_ms FROM ${t.clock}`);
  if (setBackBy(clock?.latest_ms ?? 0, now) === 0) return false;
  const locked = await session.row<{ latest_ms: number }>(`SELECT latest_ms FROM ${t.clock} FOR UPDATE`);
  const back = setBackBy(locked?.latest_ms ?? 0, now);
  if (back === 0) return false; // somebody else has done it
  await session.run(moves.moveLeases, [back, now + leaseMs]);
  await session.run(moves.moveDue, [back, now]);
  for (const table of [t.handling, t.processors]) {
    await session.run(`UPDATE ${table} SET seen_ms = seen_ms - $1::bigint WHERE seen_ms > $2`, [back, now]);
  }
  await session.run(`UPDATE ${t.clock} SET latest_ms = $1`, [latestTime(0, now)]);
  return false;
}
