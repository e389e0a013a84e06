import type { EventKey } from '../../event.ts';
import type { Claims, Counting, EntityQueue, EventToRun, RanOutEvent, RunningEvent } from '../../rules/engine.ts';
import { isCommittedAlone } from '../../rules/committed-alone.ts';
import { foundCrash, type FoundCrash } from '../../rules/found-crash.ts';
import { answer, asked, DONE } from '../../rules/steps.ts';
import type { DeadReason, EventState } from '../../state.ts';
import type { Attempt, CrashedEvent, Lease } from '../../work.ts';
import { fromText, textOrNull, toText } from '../driver/values.ts';
import { fromKey, keyOrNull } from '../sql/keys.ts';
import { createdOf, joined, LOST, places, STATE } from '../sql/records.ts';
import { rowOf, type Tables } from '../sql/tables.ts';
import { candidateOf, candidates, type CandidateRow } from './candidates.ts';
import { followClock } from './follow-clock.ts';
import type { Scene } from './scene.ts';

interface RowToRun extends CandidateRow {
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly pruned: boolean;
  readonly lost: boolean;
}

interface ClaimedRow {
  readonly seq: number;
  readonly fence: number;
  readonly attempts: number;
  readonly failures: number;
  readonly slot: number;
  readonly endpoint: string;
  readonly id: string;
  readonly body: Buffer;
  readonly verified: boolean;
  readonly received_ms: number;
  readonly trace: string | null;
}

interface RunningRow extends Omit<CandidateRow, 'crashes' | 'type'> {
  readonly fence: number;
  readonly type: string;
  readonly attempts: number;
  readonly trigger: Attempt['trigger'];
  readonly claimed_ms: number;
  readonly has_effect: boolean;
  readonly processed: boolean;
  readonly closing: boolean;
}

interface RanOutRow extends RunningRow {
  readonly id: string;
  readonly crashes: number;
}

/** Of an event under a lease; with LIMIT, or its marker would be looked for among all that there are. */
const runningColumns = (t: Tables): string => `
  seq, fence, endpoint, type, entity, created_ms, created_ns, attempts, trigger, claimed_ms, processed, closing,
  (SELECT true FROM ${t.effects} AS effects WHERE effects.seq = queue.seq AND effects.fence = queue.fence LIMIT 1)
    IS NOT NULL AS has_effect`;

/** Processors take events, hold them, and say how their attempts ended. */
export function handling(scene: Scene): Omit<Claims, keyof Counting | keyof EntityQueue> {
  const { session, t, moves, leases, facts, writes, given } = scene;
  /** the one event that was asked for by its key */
  let toRun: EventToRun | undefined;

  async function claim(seqs: readonly number[], now: number, until: number): Promise<readonly ClaimedRow[]> {
    if (toRun !== undefined && seqs.includes(toRun.seq) && (toRun.state === 'dead' || toRun.state === 'ignored')) {
      const { seq, type, entity } = toRun;
      await session.run(moves.unshelve, [seq, keyOrNull(type), keyOrNull(entity), null, false, false, null]);
    }
    const values = [seqs, now, until, leases.ordered, leases.exclusive];
    const rows = await session.rows<ClaimedRow>(moves.claim, values);
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    return seqs.map((seq) => {
      const row = bySeq.get(seq);
      if (row === undefined) throw new RangeError('an event is claimed that is not in the queue');
      return row;
    });
  }

  return {
    // Before the transaction (latest-time.ts): who holds the row of the clock would hold up everybody else.
    noteTime: () => DONE,
    followClock: ({ now, leaseMs }) => asked(followClock(scene, now, leaseMs)),
    // What arrives is in the indexes for work at once.
    newestSeq: () => answer(0),
    lookAtFresh: ({ now }) => asked(session.run(moves.lookAtFresh, [now]).then(() => false)),
    isSuspectRunning() {
      const text = `SELECT 1 FROM ${t.queue} WHERE lease_until_ms IS NOT NULL AND crashes > 0 LIMIT 1`;
      // A lease that this claim has ended does not count.
      return asked(writes.flush().then(async () => (await session.row(text)) !== undefined));
    },
    candidates: (request, suspects, limit, pauses) => asked(candidates(scene, request, { suspects, limit, pauses })),
    eventToRun: (key) =>
      asked(
        eventToRun(scene, key).then((event) => {
          toRun = event;
          return event;
        }),
      ),
    isSuperseded({ seq, endpoint, entity, created }) {
      const known = facts.superseded.get(seq);
      if (known !== undefined) return answer(known);
      const text = `
        SELECT 1 FROM ${t.entities}
        WHERE entity = $1 AND endpoint = $2 AND (created_ms, created_ns) > ($3::bigint, $4::integer)`;
      const values = [keyOrNull(entity), toText(endpoint), created?.ms ?? null, created?.ns ?? null];
      return asked(session.row(text, values).then((found) => found !== undefined));
    },
    claim(seqs, now, until, number) {
      for (const seq of seqs) facts.claimed(seq);
      return asked(
        claim(seqs, now, until).then((rows) => {
          const claimed = rows.map(claimedOf);
          if (number !== undefined) for (const row of rows) given.note(number, row);
          return claimed;
        }),
      );
    },
    foundBy: (number) => asked(foundBy(scene, number)),
    claimedUnder(number) {
      const leases = given.under(number);
      return leases.length === 0 ? answer([]) : asked(stillHeld(scene, leases));
    },
    renew: ({ seq, fence }, until, isClosing) =>
      asked(session.run(moves.renew, [seq, fence, until, isClosing]).then((changes) => changes === 1)),
    ranOut: (by, limit, before) => asked(ranOut(scene, by, limit, before)),
    held(lease) {
      if (facts.running.has(lease.seq)) return answer(facts.held(lease));
      return asked(readRunning(scene, [lease.seq]).then(() => facts.held(lease)));
    },
    outcomeUnder({ seq, fence }) {
      const text = `
        SELECT outcome, error_message FROM ${t.attempts} WHERE seq = $1 AND fence = $2 AND found_by IS NULL
        ORDER BY number DESC LIMIT 1`;
      const outcome = async () => {
        await writes.flush();
        const row = await session.row<Pick<Attempt, 'outcome'> & { error_message: string | null }>(text, [seq, fence]);
        return row && isCommittedAlone(row.error_message) ? 'committed alone' : row?.outcome;
      };
      return asked(outcome());
    },
    end(seq, ending, now) {
      facts.ended(seq, ending.state);
      const { failed, crashed } = ending;
      switch (ending.state) {
        case 'processed':
          writes.end(seq);
          return DONE;
        case 'pending':
          return asked(
            session.run(moves.toRetry, [seq, ending.dueAt, failed, crashed, ending.yields ?? null]).then(() => {}),
          );
        case 'dead': {
          const values = [seq, ending.deadReason, now, ending.fingerprint, failed, crashed];
          return asked(session.run(moves.toDead, values).then(() => {}));
        }
      }
    },
    processedUnderLease: (seq) => asked(session.run(moves.processedUnderLease, [seq]).then(() => {})),
    endLease(seq) {
      facts.ended(seq, 'processed');
      writes.end(seq);
      return DONE;
    },
    noteLateError({ seq, fence }, { name, message, stack }) {
      const text = `
        UPDATE ${t.attempts} SET error_name = $3, error_message = $4, error_stack = $5
        WHERE seq = $1 AND fence = $2 AND number = (SELECT max(number) FROM ${t.attempts} WHERE seq = $1)
          AND NOT EXISTS (SELECT 1 FROM ${t.queue} WHERE seq = $1 AND fence <> $2)
          AND (SELECT 1 FROM ${t.events} WHERE seq = $1 AND body IS NOT NULL) IS NOT NULL`;
      return asked(session.run(text, [seq, fence, toText(name), toText(message), textOrNull(stack)]).then(() => {}));
    },
    addAttempt(event, ended, now) {
      writes.attempt(event, ended, now);
      return DONE;
    },
    raiseHighWater(event) {
      writes.processed(event);
      return DONE;
    },
  };
}

/** The event of a key, whose slot is held until the transaction ends. */
async function eventToRun({ session, t, moves, locks }: Scene, key: EventKey): Promise<EventToRun | undefined> {
  await locks.takeOfKeys([key]);
  const row = await session.row<RowToRun>(
    `SELECT events.seq, events.endpoint, events.type, events.entity, events.created_ms, events.created_ns,
       coalesce(queue.crashes, shelf.crashes, 0) AS crashes, ${STATE}, events.body IS NULL AS pruned,
       ${LOST} AS lost
     FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
    [toText(key.id), toText(key.endpoint)],
  );
  if (row === undefined) return undefined;
  if (row.lost) await session.run(moves.shelveLost, [[row.seq]]);
  return {
    ...candidateOf(row),
    entity: row.entity === null ? null : fromText(row.entity),
    type: row.type === null ? null : fromText(row.type),
    state: row.state,
    isInvalid: row.dead_reason === 'invalid',
    isPruned: row.pruned,
  };
}

/** As candidates are: looked for, locked as far as nobody else has them, and read again. */
async function ranOut(
  { session, t, locks }: Scene,
  by: number,
  limit: number,
  before: EventKey | undefined,
): Promise<readonly RanOutEvent[]> {
  const ended = 'lease_until_ms IS NOT NULL AND lease_until_ms <= $1::bigint';
  const found: { seq: number; slot: number }[] = [];
  if (before === undefined) {
    const text = `SELECT seq, slot FROM ${t.queue} WHERE ${ended} ORDER BY lease_until_ms LIMIT $2`;
    found.push(...(await session.rows<{ seq: number; slot: number }>(text, [by, limit])));
  } else {
    await locks.takeOfKeys([before]);
    const text = `
      SELECT queue.seq, queue.slot FROM ${t.queue} AS queue
      WHERE ${ended} AND (
        seq = (SELECT seq FROM ${t.events} WHERE id = $3 AND endpoint = $4)
        OR (entity = (SELECT entity FROM ${t.queue} WHERE seq = (SELECT seq FROM ${t.events} WHERE id = $3 AND endpoint = $4))
          AND endpoint = $4)
      ) LIMIT $2`;
    const values = [by, limit, toText(before.id), toText(before.endpoint)];
    found.push(...(await session.rows<{ seq: number; slot: number }>(text, values)));
  }
  if (found.length === 0) return [];
  const free = await locks.takeFree(found.map(({ slot }) => slot));
  const ours = found.filter(({ slot }) => free.has(slot)).map(({ seq }) => seq);
  const rows = await session.rows<RanOutRow>(
    `SELECT ${runningColumns(t)}, crashes, (SELECT id FROM ${t.events} AS events WHERE events.seq = queue.seq LIMIT 1) AS id
     FROM ${t.queue} AS queue WHERE ${ended} AND seq = ANY($2::bigint[]) ORDER BY lease_until_ms`,
    [by, ours],
  );
  return rows.map((row) => ({ ...runningOf(row), id: fromText(row.id), crashes: row.crashes, bytes: 0 }));
}

function claimedOf(row: ClaimedRow) {
  return {
    lease: { seq: row.seq, fence: row.fence },
    endpoint: fromText(row.endpoint),
    id: fromText(row.id),
    body: row.body,
    verified: row.verified,
    receivedAt: new Date(row.received_ms),
    attempt: row.attempts,
    failures: row.failures,
    ...(row.trace !== null && { trace: fromText(row.trace) }),
  };
}

/** What a claim has found crashed, and where its event stands by now. */
async function foundBy({ session, t }: Scene, number: number): Promise<readonly CrashedEvent[]> {
  const rows = await session.rows<FoundCrash & EventKey>(
    `SELECT endpoint, id, type, attempt, outcome, ended_ms, error_name, error_message, error_stack, due_ms, dead_reason,
       CASE WHEN attempts = attempt THEN state END AS state
     FROM (
       SELECT events.endpoint, events.id, events.type, ended.number AS attempt, ended.outcome, ended.seq, ended.ended_ms, ended.error_name,
         ended.error_message, ended.error_stack, queue.due_ms, coalesce(queue.attempts, shelf.attempts) AS attempts, ${STATE}
       FROM ${t.attempts} AS ended CROSS JOIN ${rowOf(t.events, 'events', 'found.seq = ended.seq')} ${places(t)}
       WHERE ended.found_by = $1
     ) AS told ORDER BY ended_ms, seq`,
    [number],
  );
  return rows.map((row) => {
    const { type, error_name: name, error_message: message, error_stack: stack } = row;
    return foundCrash({
      ...row,
      endpoint: fromText(row.endpoint),
      id: fromText(row.id),
      type: type === null ? null : fromText(type),
      error_name: name === null ? null : fromText(name),
      error_message: message === null ? null : fromText(message),
      error_stack: stack === null ? null : fromText(stack),
    });
  });
}

/** The leases that are still held. Their slots were taken (claims.ts); an event may have moved to another slot since. */
async function stillHeld(scene: Scene, leases: readonly Lease[]): Promise<readonly RunningEvent[]> {
  const seqs = leases.map(({ seq }) => seq);
  await scene.locks.takeOf(seqs);
  await readRunning(scene, seqs);
  return [...new Set(leases.map((lease) => scene.facts.held(lease)))].filter((event) => event !== undefined);
}

/** What is in processing of some events, whose slots are held. */
export async function readRunning({ session, t, facts }: Scene, seqs: readonly number[]): Promise<void> {
  const rows = await session.rows<RunningRow>(
    `SELECT ${runningColumns(t)} FROM ${t.queue} AS queue WHERE seq = ANY($1::bigint[]) AND lease_until_ms IS NOT NULL`,
    [seqs],
  );
  for (const seq of seqs) facts.running.set(seq, undefined);
  for (const row of rows) facts.running.set(row.seq, runningOf(row));
}

function runningOf(row: RunningRow): RunningEvent {
  return {
    seq: row.seq,
    fence: row.fence,
    endpoint: fromText(row.endpoint),
    type: fromKey(row.type),
    entity: row.entity === null ? null : fromKey(row.entity),
    created: createdOf(row),
    attempt: row.attempts,
    trigger: row.trigger,
    claimedAt: row.claimed_ms,
    hasEffect: row.has_effect,
    isProcessed: row.processed,
    isClosing: row.closing,
  };
}
