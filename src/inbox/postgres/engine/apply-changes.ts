import { countChange, logColumn } from '../../rules/attempt.ts';
import { supersededBy } from '../../rules/latest.ts';
import { breakerWrites, NO_NEWS, type BreakerReport, type NewsOfBreakers } from '../../rules/breakers.ts';
import type { BreakerNews } from '../../work.ts';
import {
  handlersPauseWrites,
  PAUSE_COLUMNS,
  pauseOf,
  type PauseRow,
  type StoredPause,
  type EndpointType,
} from '../../rules/pauses.ts';
import { rateWrite } from '../../rules/rates.ts';
import type { Change, RunningEvent } from '../../rules/store.ts';
import { contentColumns } from '../sql/records.ts';
import { given, hasRows, lists, writeTogether, type Write } from '../sql/statements.ts';
import { isHash, type Tables } from '../sql/tables.ts';
import type { Transaction } from './transaction.ts';

type Ended = Extract<Change, { kind: 'attempt ended' }>;

/** The caller holds the slots. Saves all changes of a kind together, in one round trip where possible. */
export async function applyChanges(transaction: Transaction, changes: readonly Change[]): Promise<NewsOfBreakers> {
  if (changes.length === 0) return NO_NEWS;
  const news = await pauseTypes(transaction, changes);
  const { session, t, moves, counts } = transaction;
  for (const change of changes) countChange(counts, change);
  const of = <Kind extends Change['kind']>(kind: Kind) =>
    changes.filter((change): change is Extract<Change, { kind: Kind }> => change.kind === kind);
  const ended = of('attempt ended');
  const seqs = (some: readonly Ended[]) => some.map(({ event }) => event.seq);
  const released = ended.filter(({ ending, keepsLease }) => ending.state === 'processed' && !keepsLease);
  const together: readonly Write[] = [
    moves.toProcessed([...seqs(released), ...of('lease ended').map(({ seq }) => seq)]),
    moves.processedUnderLease(seqs(ended.filter(({ keepsLease }) => keepsLease))),
    moves.park(of('parked').flatMap(({ seqs }) => seqs)),
    moves.unpark(of('unparked').flatMap(({ seqs }) => seqs)),
    moves.toRetry(
      ended.flatMap(({ event: { seq }, ending }) =>
        ending.state === 'pending' ? [{ ...ending, seq, due_ms: ending.dueAt, yields: ending.yields ?? null }] : [],
      ),
    ),
    attempts(t, ended),
    endedEffects(t, ended),
    marksToRaise(
      t,
      ended.flatMap(({ event, supersedes }) => (supersedes ? [event] : [])),
    ),
    ...(await transaction.countsToWrite()),
  ];
  const alone: readonly Write[] = [
    ...of('superseded').map(({ seqs, now, by }) => moves.superseded(seqs, now, supersededBy(by.id))),
    moves.postpone(of('postponed').flatMap(({ events }) => events.map(({ seq, dueAt }) => ({ seq, due_ms: dueAt })))),
    ...of('lease renewed').map(({ lease, until }) => moves.renew([lease], until, false)),
    ...of('attempts begun').map(({ rate }) => rateWrite(t.rates, rate)),
    ...of('late error').map((change) => lateError(t, change)),
    // A separate statement, because it has a WITH.
    moves.toDead(
      ended.flatMap(({ event: { seq }, ending, now }) =>
        ending.state === 'dead' ? [{ ...ending, seq, dead_reason: ending.deadReason, settled_ms: now }] : [],
      ),
    ),
  ];
  await Promise.all([writeTogether(session, together), ...alone.filter(hasRows).map((write) => session.run(write))]);
  return news;
}

/** A claim that deletes pauses does not wait for one that is being written. */
async function pauseTypes({ session, t }: Transaction, changes: readonly Change[]): Promise<NewsOfBreakers> {
  const collected = new Map<BreakerReport, BreakerNews>();
  // The name of a long type is not known here, and too long for a pause.
  const requested = changes.flatMap((change) =>
    change.kind === 'type paused' && !isHash(change.requested.type) ? [change.requested] : [],
  );
  const reports = changes.flatMap((change) =>
    change.kind === 'attempt reported' && !isHash(change.report.type) ? [change.report] : [],
  );
  const known = async ({ endpoint, type }: EndpointType): Promise<StoredPause | null> => {
    const text = `SELECT ${PAUSE_COLUMNS} FROM ${t.pauses} WHERE endpoint = $1 AND type = $2`;
    const row = await session.row<PauseRow>(text, [endpoint, type]);
    return row === undefined ? null : pauseOf(row);
  };
  if (requested.length + reports.length > 0) await session.exec(`LOCK TABLE ${t.pauses} IN SHARE ROW EXCLUSIVE MODE`);
  for (const report of reports) {
    const text = `SELECT failures FROM ${t.breakers} WHERE endpoint = $1 AND type = $2`;
    const row = await session.row<{ failures: number }>(text, [report.endpoint, report.type]);
    const before = { failures: row?.failures ?? 0, pause: await known(report) };
    const { writes, news } = breakerWrites(t, before, report);
    for (const write of writes) await session.run(write);
    if (news !== null) collected.set(report, news);
  }
  for (const each of requested) {
    for (const write of handlersPauseWrites(t, await known(each), each)) await session.run(write);
  }
  for (const change of changes) {
    if (change.kind === 'probe begun') {
      const { endpoint, type, until } = change.probe;
      const text = `UPDATE ${t.pauses} SET until_ms = $3 WHERE endpoint = $1 AND type = $2`;
      await session.run(text, [endpoint, type, until]);
    }
    if (change.kind !== 'pauses ended') continue;
    const ended = `SELECT endpoint, type FROM ${t.pauses} WHERE until_ms <= $1 AND failures IS NULL FOR UPDATE SKIP LOCKED`;
    await session.run(`DELETE FROM ${t.pauses} WHERE (endpoint, type) IN (${ended})`, [change.now]);
  }
  return collected;
}

const ATTEMPT =
  'seq, number, trigger, outcome, fence, endpoint, started_ms, ended_ms, prunable, error_name, error_message, error_stack, skipped, log, attempt_limit, processor, found_by';

function attempts(t: Tables, ended: readonly Ended[]): Write {
  const rows = ended.map(({ event, ending, now, foundBy = null }) => ({
    seq: event.seq,
    number: event.attempt,
    trigger: event.trigger,
    outcome: ending.outcome,
    fence: event.fence,
    endpoint: event.endpoint,
    started_ms: event.claimedAt,
    ended_ms: now,
    prunable: ending.outcome === 'processed',
    error_name: ending.error?.name ?? null,
    error_message: ending.error?.message ?? null,
    error_stack: ending.error?.stack ?? null,
    skipped: ending.skipped ?? null,
    log: logColumn(ending.log),
    attempt_limit: ending.limit ?? null,
    processor: ending.processor ?? null,
    found_by: foundBy,
  }));
  return {
    text: `INSERT INTO ${t.attempts} (${ATTEMPT}) SELECT * FROM ${given(ATTEMPT)}`,
    values: lists(ATTEMPT, rows),
  };
}

/** The handler may still check the mark after a crash. */
function endedEffects(t: Tables, ended: readonly Ended[]): Write {
  const marked = ended.filter(({ event, foundBy }) => event.hasEffect && foundBy === undefined);
  return {
    text: `DELETE FROM ${t.effects} WHERE seq = ANY($1::bigint[]) AND fence = ANY($2::bigint[])`,
    values: lists(
      'seq, fence',
      marked.map(({ event }) => event),
    ),
  };
}

function lateError(t: Tables, { lease, error, log }: Extract<Change, { kind: 'late error' }>): Write {
  return {
    text: `
      UPDATE ${t.attempts} SET error_name = $3, error_message = $4, error_stack = $5, log = coalesce($6, log)
      WHERE seq = $1 AND fence = $2 AND number = (SELECT max(number) FROM ${t.attempts} WHERE seq = $1)
        AND NOT EXISTS (SELECT 1 FROM ${t.queue} WHERE seq = $1 AND fence <> $2)
        AND (SELECT 1 FROM ${t.events} WHERE seq = $1 AND body IS NOT NULL) IS NOT NULL`,
    values: [lease.seq, lease.fence, error.name, error.message, error.stack, logColumn(log)],
  };
}

const MARK = 'entity_key, endpoint, created_ms, created_ns';

export function marksToRaise(
  t: Tables,
  events: readonly Pick<RunningEvent, 'endpoint' | 'entity' | 'created'>[],
): Write {
  const marks = events
    .filter(({ created }) => created !== null)
    .map((event) => ({ endpoint: event.endpoint, ...contentColumns({ type: null, ...event }) }));
  return {
    text: `
      INSERT INTO ${t.entities} AS known (entity, endpoint, created_ms, created_ns)
      SELECT DISTINCT ON (entity_key, endpoint) ${MARK} FROM ${given(MARK)}
      ORDER BY entity_key, endpoint, created_ms DESC, created_ns DESC
      ON CONFLICT (entity, endpoint) DO UPDATE SET created_ms = excluded.created_ms, created_ns = excluded.created_ns
      WHERE (excluded.created_ms, excluded.created_ns) > (known.created_ms, known.created_ns)`,
    values: lists(MARK, marks),
  };
}
