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
import { mayRerun } from '../rules/operator-acts.ts';
import type { EventKey } from '../event.ts';
import type { Announced, Attempt, AttemptError, ProcessorIdentity, Scope, WorkQueue } from '../work.ts';
import type { Queue } from '../rules/store.ts';
import { eventsToUnpark } from '../rules/entity-order.ts';
import { postgresStore } from './engine/postgres-store.ts';
import { openLanes, pausesIn } from '../rules/pauses.ts';
import {
  forgetProcessor,
  handledTypes,
  ignoredTypes,
  isAnybodyThere,
  noteProcessor,
  noteScope,
  parkedAfter,
  pendingTypes,
  processorsAfter,
  readyTypes,
  waitingOf,
} from './engine/announcements.ts';
import { nextInQueues } from './engine/entity-queue.ts';
import { lanesOf, pausesOf, readyEndpoints } from './engine/due-events.ts';
import { eventToRerun, prunable, toPending } from './engine/settled-events.ts';
import { toKey } from './sql/tables.ts';
import type { Scene } from './engine/transaction.ts';
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
  | 'rerun'
  | 'prune'
>;

/** What processors ask for beside events and their ends. */
export function workQueue(store: Store): Part {
  const { database, moves, time, scene, writeAt } = store;
  /** how far each processor of this process has come with what waits */
  const sweeps = new Map<string, Sweep>();

  return {
    async renew(leases, now, leaseMs, isClosing) {
      if (leases.length === 0) return [];
      const times = time.asked();
      return database.transaction({
        before: (session) => writeAt(session, now, times),
        async work(session) {
          const place = scene(session);
          // As settlements do, so that none waits for a renewal that waits for it.
          await place.locks.takeOf(leases.map(({ seq }) => seq));
          // From when it is granted, as with claims.
          return postgresStore(place).renew(leases, times.granted(now) + leaseMs, isClosing ?? false);
        },
      });
    },
    nextDue: (scope) => nextDue(store, scope),
    async announce(scope, now, ignoreBefore, processor) {
      const whose = JSON.stringify(scope);
      const from = sweeps.get(whose) ?? WHOLE_SWEEP;
      const times = time.asked();
      const { sweep, ignored, more } = await database.transaction({
        before: (session) => writeAt(session, now, times),
        work(session) {
          const before = ignoreBefore === null ? null : times.toDatabase(ignoreBefore);
          const who = processor && { ...processor, startedAt: times.toDatabase(processor.startedAt) };
          return announce(scene(session), scope, times.toDatabase(now), before, from, who);
        },
      });
      sweeps.set(whose, sweep);
      return { ignored, more };
    },
    leave: (processor) =>
      database.transaction({
        work: (session) => forgetProcessor(scene(session), processor),
      }),
    processors: (now) =>
      database.read(async (session) => {
        await time.follow(session);
        const place = scene(session);
        const [running, handled] = await Promise.all([
          processorsAfter(place, seenSince(time.toDatabase(now))),
          handledTypes(place),
        ]);
        return processorsSeen(running, handled, (at) => new Date(time.toCaller(at)));
      }),
    unhandled: (now, handledSince = seenSince(now)) =>
      database.read(async (session) => {
        await time.follow(session);
        const since = time.toDatabase(handledSince);
        const place = scene(session);
        const [pending, isThere] = await Promise.all([pendingTypes(place), isAnybodyThere(place, since)]);
        return unhandledTypes(pending, { isAnybodyThere: isThere, handledSince: since }).map((each) => ({
          ...each,
          since: each.since && new Date(time.toCaller(each.since.getTime())),
        }));
      }),
    ignoredSince: (scope, since, now) =>
      database.read(async (session) => {
        await time.follow(session);
        return ignoredReport(await ignoredTypes(scene(session), scope, time.toDatabase(since)), time.toDatabase(now));
      }),
    attempts: (key) => attemptsOf(store, key),
    rerun(key, content, now, readFrom) {
      const times = time.asked();
      return database.transaction({
        before: (session) => writeAt(session, now, times),
        async work(session) {
          const place = scene(session);
          const event = await eventToRerun(place, key, readFrom);
          if (!mayRerun(event)) return false;
          await toPending(place, [{ event, content }], times.toDatabase(now));
          place.writes.counts.countType('rerun', content.type);
          await place.writes.flush();
          return true;
        },
      });
    },
    prune: (endpoints, processedBefore, limit) =>
      database.transaction({
        before: (session) => time.follow(session),
        async work(session) {
          const found = await prunable(scene(session), endpoints, time.toDatabase(processedBefore), limit);
          const seqs = withinBudget(found, new Budget()).map(({ seq }) => seq);
          if (seqs.length > 0) await session.run(moves.pruneProcessed, [seqs]);
          return seqs.length;
        },
      }),
  };
}

/** One step through what waits. See `announce` in queue-operations.ts, which does the same without `await`. */
async function announce(
  scene: Scene,
  scope: Scope,
  now: number,
  ignoreBefore: number | null,
  sweep: Sweep,
  processor?: ProcessorIdentity,
): Promise<Announced & { readonly sweep: Sweep }> {
  const { session, moves, writes } = scene;
  await noteScope(scene, scope, now);
  if (processor !== undefined) {
    await noteProcessor(scene, { ...processor, ...scope, seenAt: now }, seenSince(now));
  }
  await session.run(moves.indexNew, [now]);
  const budget = new Budget();
  let parked: Sweep['parked'] = null;
  if (sweep.parked !== null) {
    const found = await parkedAfter(scene, sweep.parked, PARKED_BATCH, seenSince(now));
    const plan = planParked(found, budget);
    await unpark(scene, plan.unpark, plan.queues, now);
    ({ parked } = plan);
  }
  if (ignoreBefore === null || sweep.ignoring === null) return announced([], { parked, ignoring: null });
  const ready = await readyTypes(scene, scope.endpoints, sweep.ignoring, goneSince(now, ignoreBefore), TYPES_BATCH);
  const types = typesToIgnore(ready, now, ignoreBefore);
  const plan = planIgnore(ready, await waitingOf(scene, types, ignoreBefore, IGNORE_BATCH), budget);
  if (plan.events.length > 0) {
    await session.run(moves.toIgnored, [plan.events.map(({ seq }) => seq), now]);
    for (const { type } of plan.events) writes.counts.countType('ignored', type);
    await unpark(scene, [], plan.left, now);
    await writes.flush();
  }
  return announced(plan.ignored, { parked, ignoring: plan.ignoring });
}

/** Unparks events, and what comes next in queues. */
async function unpark(scene: Scene, seqs: readonly number[], left: readonly Queue[], now: number): Promise<void> {
  const queues = left.filter(({ entity }) => entity !== null);
  const next = queues.length === 0 ? [] : await nextInQueues(scene, queues, seenSince(now));
  const all = [...new Set([...seqs, ...eventsToUnpark(next)])];
  if (all.length > 0) await scene.session.run(scene.moves.unpark, [all]);
}

/** When the next event of a scope is due, or a lease runs out; one look through an index for each endpoint and type. */
async function nextDue({ database, t, time, scene }: Store, scope: Scope): Promise<number | null> {
  return database.read(async (session) => {
    await time.follow(session);
    const place = scene(session);
    const named = [...new Set(await readyEndpoints(place, scope.endpoints))];
    const pauses = await pausesOf(place);
    const isWhole = scope.types === '*' && !pausesIn(pauses, { endpoints: named, types: '*' });
    const ready = 'lease_until_ms IS NULL AND NOT parked AND endpoint = named.endpoint';
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
    // Where something is paused, every type is each by its name: by that, paused ones are passed over.
    const open = isWhole ? [] : openLanes(pauses, await lanesOf(place, named, scope.types));
    const lanes = [open.map(({ endpoint }) => endpoint), open.map(({ type }) => toKey(type))];
    const row = await session.row<{ at: number | null }>(
      next(isWhole ? ofEndpoints : ofLanes),
      isWhole ? [named] : lanes,
    );
    return row === undefined || row.at === null ? null : time.toCaller(row.at);
  });
}

interface AttemptRow {
  readonly number: number;
  readonly trigger: Attempt['trigger'];
  readonly outcome: Attempt['outcome'];
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  readonly error_stack: string | null;
  readonly skipped: string | null;
}

async function attemptsOf({ database, t, time }: Store, { id, endpoint }: EventKey): Promise<readonly Attempt[]> {
  const rows = await database.read(async (session) => {
    await time.follow(session);
    return session.rows<AttemptRow>(
      `SELECT number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack, skipped FROM ${t.attempts}
       WHERE seq = (SELECT seq FROM ${t.events} WHERE id = $1 AND endpoint = $2) ORDER BY number`,
      [id, endpoint],
    );
  });
  return rows.map((row) => ({
    number: row.number,
    trigger: row.trigger,
    outcome: row.outcome,
    startedAt: new Date(time.toCaller(row.started_ms)),
    endedAt: new Date(time.toCaller(row.ended_ms)),
    error: errorOf(row),
    ...(row.skipped !== null && { skipped: row.skipped }),
  }));
}

function errorOf({ error_name: name, error_message: message, error_stack: stack }: AttemptRow): AttemptError | null {
  if (name === null) return null;
  return { name, message: message ?? '', stack };
}
