import { factsOfAttempt, isRunning, type AttemptFactColumns } from '../rules/attempt.ts';
import { Budget, withinBudget } from '../rules/budget.ts';
import {
  announced,
  IGNORE_BATCH,
  PARKED_BATCH,
  planIgnore,
  planParked,
  TYPES_BATCH,
  typesToIgnore,
  WHOLE_SWEEP,
  type Sweep,
  goneSince,
  processorsSeen,
  seenSince,
  ignoredTypes as ignoredReport,
  unhandledTypes,
} from '../rules/processors.ts';
import type { Queue } from '../rules/store.ts';
import { eventsToUnpark } from '../rules/entity-order.ts';
import { postgresStore } from './engine/postgres-store.ts';
import { openLanes, pausesIn, type StoredPause } from '../rules/pauses.ts';
import { mayRerun } from '../rules/decide-act.ts';
import type { EventKey } from '../event.ts';
import type { Announced, Attempt, DoneStep, ProcessorIdentity, Scope, WorkQueue } from '../work.ts';
import {
  handledTypes,
  ignoredTypes,
  isAnyProcessorThere,
  noteProcessor,
  noteScope,
  parkedAfter,
  pendingTypes,
  processorsAfter,
  readyTypes,
  waitingOf,
} from './engine/announcements.ts';
import { nextInQueues } from './engine/entity-queue.ts';
import { lanesOf, pausesOf, READY, readyEndpoints } from './engine/due-events.ts';
import { eventToRerun, prunable, toPending } from './engine/settled-events.ts';
import { toKey } from './sql/tables.ts';
import type { Reading, Transaction } from './engine/transaction.ts';
import { writeTogether } from './sql/statements.ts';
import type { Store } from './store.ts';

type Part = Pick<
  WorkQueue<never>,
  | 'renew'
  | 'nextDue'
  | 'announce'
  | 'leave'
  | 'processors'
  | 'unhandled'
  | 'ignoredSince'
  | 'attempts'
  | 'steps'
  | 'keepStep'
  | 'rerun'
  | 'prune'
>;

export function workQueue(store: Store): Part {
  const { database, t, moves, time, read, within, writeAt } = store;
  const sweeps = new Map<string, Sweep>();

  return {
    async renew(leases, now, leaseMs, isClosing) {
      if (leases.length === 0) return [];
      const times = time.requested();
      return database.transaction({
        before: (session) => writeAt(session, now, times),
        async work(session) {
          const transaction = within(session);
          // In the same order as settlements, or the two could deadlock.
          await transaction.locks.takeOf(leases.map(({ seq }) => seq));
          return postgresStore(transaction).renew(leases, times.granted(now) + leaseMs, isClosing ?? false);
        },
      });
    },
    nextDue: (scope) => nextDue(store, scope),
    async announce(scope, now, ignoreBefore, processor) {
      const whose = JSON.stringify(scope);
      const from = sweeps.get(whose) ?? WHOLE_SWEEP;
      const times = time.requested();
      const { sweep, ignored, more } = await database.transaction({
        before: (session) => writeAt(session, now, times),
        work(session) {
          const before = ignoreBefore === null ? null : times.toDatabase(ignoreBefore);
          const who = processor && { ...processor, startedAt: times.toDatabase(processor.startedAt) };
          return announce(within(session), scope, times.toDatabase(now), before, from, who);
        },
      });
      sweeps.set(whose, sweep);
      return { ignored, more };
    },
    leave: (processor) =>
      database.transaction({
        async work(session) {
          await session.run(`DELETE FROM ${t.processors} WHERE name = $1`, [processor]);
        },
      }),
    processors: (now) =>
      read(async (reading) => {
        const [running, handled] = await Promise.all([
          processorsAfter(reading, seenSince(time.toDatabase(now))),
          handledTypes(reading),
        ]);
        return processorsSeen(running, handled, (at) => new Date(time.toCaller(at)));
      }),
    unhandled: (now, handledSince = seenSince(now)) =>
      read(async (reading) => {
        const since = time.toDatabase(handledSince);
        const [pending, isThere] = await Promise.all([
          pendingTypes(reading, since),
          isAnyProcessorThere(reading, since),
        ]);
        return unhandledTypes(pending, { isAnybodyThere: isThere, handledSince: since }).map((each) => ({
          ...each,
          since: each.since && new Date(time.toCaller(each.since.getTime())),
        }));
      }),
    ignoredSince: (scope, since, now) =>
      read(async (reading) =>
        ignoredReport(await ignoredTypes(reading, scope, time.toDatabase(since)), time.toDatabase(now)),
      ),
    attempts: (key) => attemptsOf(store, key),
    steps: ({ id, endpoint }) =>
      read(async ({ session }) => {
        const rows = await session.rows<Pick<DoneStep, 'name' | 'attempt' | 'result'> & { at_ms: number }>(
          `SELECT name, attempt, at_ms, result FROM ${t.steps}
           WHERE seq = (SELECT seq FROM ${t.events} WHERE id = $1 AND endpoint = $2) ORDER BY seq, name`,
          [id, endpoint],
        );
        // Their index has them by name.
        const inTime = rows.toSorted((one, other) => one.at_ms - other.at_ms);
        return inTime.map(({ at_ms: at, ...step }) => ({ ...step, at: new Date(time.toCaller(at)) }));
      }),
    keepStep: (lease, step, now) =>
      // A repeated call has no effect.
      database.transaction({
        async work(session) {
          const transaction = within(session);
          await transaction.locks.takeOf([lease.seq]);
          const engine = postgresStore(transaction);
          const [event] = await engine.held([lease], null);
          if (isRunning(event)) await engine.addStep(event, step, time.toDatabase(now));
          return isRunning(event);
        },
      }),
    rerun(key, content, now, readFrom) {
      const times = time.requested();
      return database.transaction({
        before: (session) => writeAt(session, now, times),
        async work(session) {
          const transaction = within(session);
          const event = await eventToRerun(transaction, key, readFrom);
          if (!mayRerun(event)) return false;
          await toPending(transaction, [{ event, content }], times.toDatabase(now));
          transaction.counts.countType('rerun', content.type);
          await writeTogether(session, await transaction.countsToWrite());
          return true;
        },
      });
    },
    prune: (endpoints, processedBefore, limit) =>
      database.transaction({
        before: (session) => time.follow(session),
        async work(session) {
          const found = await prunable({ session, t }, endpoints, time.toDatabase(processedBefore), limit);
          const seqs = withinBudget(found, new Budget()).map(({ seq }) => seq);
          await session.run(moves.pruneProcessed(seqs));
          return seqs.length;
        },
      }),
  };
}

/** Does the same as `announce` in queue-operations.ts, with `await`. */
async function announce(
  transaction: Transaction,
  scope: Scope,
  now: number,
  ignoreBefore: number | null,
  sweep: Sweep,
  processor?: ProcessorIdentity,
): Promise<Announced & { readonly sweep: Sweep }> {
  const { session, moves, counts } = transaction;
  await noteScope(transaction, scope, now);
  if (processor !== undefined) {
    await noteProcessor(transaction, { ...processor, ...scope, seenAt: now }, seenSince(now));
  }
  await session.run(moves.indexNew('$1'), [now]);
  const budget = new Budget();
  let parked: Sweep['parked'] = null;
  if (sweep.parked !== null) {
    const found = await parkedAfter(transaction, sweep.parked, PARKED_BATCH, seenSince(now));
    const plan = planParked(found, budget);
    await unpark(transaction, plan.unpark, plan.queues, now);
    ({ parked } = plan);
  }
  if (ignoreBefore === null || sweep.ignoring === null) return announced([], { parked, ignoring: null });
  const ready = await readyTypes(
    transaction,
    scope.endpoints,
    sweep.ignoring,
    goneSince(now, ignoreBefore),
    TYPES_BATCH,
  );
  const types = typesToIgnore(ready, now, ignoreBefore);
  const plan = planIgnore(ready, await waitingOf(transaction, types, ignoreBefore, IGNORE_BATCH), budget);
  if (plan.events.length > 0) {
    await session.run(
      moves.toIgnored(
        plan.events.map(({ seq }) => seq),
        now,
      ),
    );
    for (const { type } of plan.events) counts.countType('ignored', type);
    await unpark(transaction, [], plan.left, now);
    await writeTogether(session, await transaction.countsToWrite());
  }
  return announced(plan.ignored, { parked, ignoring: plan.ignoring });
}

async function unpark(
  transaction: Transaction,
  seqs: readonly number[],
  left: readonly Queue[],
  now: number,
): Promise<void> {
  const { session, moves } = transaction;
  const queues = left.filter(({ entity }) => entity !== null);
  const next = queues.length === 0 ? [] : await nextInQueues(transaction, queues, seenSince(now));
  await session.run(moves.unpark([...new Set([...seqs, ...eventsToUnpark(next)])]));
}

/** The earliest time at which an event of these types may be claimed. */
function firstAfter({ session, t }: Reading, pauses: readonly StoredPause[]) {
  return session.row<{ at: number | null }>(
    `SELECT min(greatest(ends.until_ms, due.due_ms)) AS at
     FROM unnest($1::text[], $2::text[], $3::bigint[]) AS ends (endpoint, type, until_ms) CROSS JOIN LATERAL (
       SELECT due_ms FROM ${t.queue} WHERE ${READY} AND endpoint = ends.endpoint AND type = ends.type
       ORDER BY due_ms, seq LIMIT 1
     ) AS due`,
    [
      pauses.map(({ endpoint }) => endpoint),
      pauses.map(({ type }) => toKey(type)),
      pauses.map(({ until }) => until?.getTime()),
    ],
  );
}

/** One index search per endpoint and type. */
async function nextDue({ t, time, read }: Store, scope: Scope): Promise<number | null> {
  return read(async (reading) => {
    const named = [...new Set(await readyEndpoints(reading, scope.endpoints))];
    const pauses = await pausesOf(reading);
    const isWhole = scope.types === '*' && !pausesIn(pauses, { endpoints: named, types: '*' });
    const ready = `${READY} AND endpoint = named.endpoint`;
    const next = (first: string): string => `
      SELECT min(due_ms) AS at FROM (
        ${first} UNION ALL (
          SELECT lease_until_ms FROM ${t.queue} WHERE lease_until_ms IS NOT NULL ORDER BY lease_until_ms LIMIT 1)
      ) AS next`;
    const ofEndpoints = `
      SELECT due.due_ms FROM unnest($1::text[]) AS named (endpoint) CROSS JOIN LATERAL (
        SELECT due_ms FROM ${t.queue} WHERE ${ready} ORDER BY due_ms + 0, seq LIMIT 1) AS due`;
    const ofLanes = `
      SELECT due.due_ms FROM unnest($1::text[], $2::text[]) AS named (endpoint, type) CROSS JOIN LATERAL (
        SELECT due_ms FROM ${t.queue} WHERE ${ready} AND type = named.type ORDER BY due_ms, seq LIMIT 1) AS due`;
    // If a type is paused, all types are named, without the paused ones.
    const open = isWhole ? [] : openLanes(pauses, await lanesOf(reading, named, scope.types));
    const lanes = [open.map(({ endpoint }) => endpoint), open.map(({ type }) => toKey(type))];
    const row = await reading.session.row<{ at: number | null }>(
      next(isWhole ? ofEndpoints : ofLanes),
      isWhole ? [named] : lanes,
    );
    const ending = pauses.filter(({ until }) => until !== undefined);
    const ended = ending.length === 0 ? undefined : await firstAfter(reading, ending);
    const times = [row?.at ?? null, ended?.at ?? null].filter((at) => at !== null);
    return times.length === 0 ? null : time.toCaller(Math.min(...times));
  });
}

interface AttemptRow extends Pick<Attempt, 'number' | 'trigger' | 'outcome'>, AttemptFactColumns {
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  readonly error_stack: string | null;
}

async function attemptsOf({ time, read }: Store, { id, endpoint }: EventKey): Promise<readonly Attempt[]> {
  const rows = await read(({ session, t }) =>
    session.rows<AttemptRow>(
      `SELECT number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack, skipped, log,
         attempt_limit, processor
       FROM ${t.attempts}
       WHERE seq = (SELECT seq FROM ${t.events} WHERE id = $1 AND endpoint = $2) ORDER BY number`,
      [id, endpoint],
    ),
  );
  return rows.map(({ number, trigger, outcome, started_ms, ended_ms, error_name: name, ...row }) => ({
    number,
    trigger,
    outcome,
    startedAt: new Date(time.toCaller(started_ms)),
    endedAt: new Date(time.toCaller(ended_ms)),
    error: name === null ? null : { name, message: row.error_message ?? '', stack: row.error_stack },
    ...factsOfAttempt(row),
  }));
}
