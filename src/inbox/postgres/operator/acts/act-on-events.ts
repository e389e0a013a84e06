import type { EventKey } from '../../../event.ts';
import { type Act, type ActOptions, type ActReport, type Acts, authorOf, type Author } from '../../../operator/acts.ts';
import {
  auditedTarget,
  bodiesToRead,
  countMoves,
  planActs,
  queuesToAdvance,
  refuseTooManyBytes,
  refuseTooManyKeys,
  reportOf,
  type EventMove,
  askedByKey,
  type ActMove,
} from '../../../rules/acts.ts';
import { eventsToUnpark } from '../../../rules/entity-order.ts';
import { seenSince } from '../../../rules/processors.ts';
import { nextInQueues } from '../../engine/entity-queue.ts';
import type { Scene } from '../../engine/scene.ts';
import { toPending } from '../../engine/settled-events.ts';
import { inOneStatement, type Write } from '../../sql/in-one-statement.ts';
import { keyOrNull } from '../../sql/keys.ts';
import type { Access } from '../access.ts';
import { actedEvents } from '../../../operator/audit.ts';
import { addAuditLine } from '../audit-line.ts';
import { postgres } from '../operator-tables.ts';
import { bytesOf, heldByKey, readBodies } from './held-events.ts';

/** Acts on events that are named. */
export function actsOnEvents({ store, ask, notify }: Access): Pick<Acts, 'act'> {
  const { database, t, time, scene, writeAt } = store;
  return {
    async act(act, keys, by, options) {
      const author = authorOf(by);
      const times = time.asked();
      refuseTooManyKeys(keys);
      if (keys.length > 1) {
        refuseTooManyBytes(keys, await ask(() => database.read((session) => bytesOf({ session, t }, keys))));
      }
      let written: { readonly report: ActReport; readonly at: number } | undefined;
      const report = await ask(() =>
        database.transaction({
          before: (session) => writeAt(session, author.now, times),
          async work(session) {
            const now = times.toDatabase(author.now);
            const report = await actOnKeys(scene(session), act, keys, { ...author, now }, options);
            written = { report, at: now };
            return report;
          },
          async wasDone(session) {
            if (written === undefined) return undefined;
            // Waits for the transaction that has moved them, should it be under way still.
            await scene(session).locks.takeOfKeys(keys);
            const text = `SELECT 1 FROM ${t.audit} WHERE seq = $1 AND at_ms = $2`;
            const line = await session.row(text, [written.report.audit, written.at]);
            return line === undefined ? undefined : { result: written.report };
          },
        }),
      );
      if (report.counts.done !== undefined) notify();
      return report;
    },
  };
}

async function actOnKeys(
  scene: Scene,
  act: Act,
  keys: readonly EventKey[],
  author: Author,
  { force = false, entity, states }: ActOptions,
): Promise<ActReport> {
  const acting = { asked: askedByKey(act, force, states), entity, now: author.now };
  const rows = await heldByKey(scene, keys);
  const { results, moves } = planActs(rows, await readBodies(scene, bodiesToRead(rows, acting)), acting);
  const advancing = await saveMoves(scene, moves, author.now);
  const report = reportOf(keys, results);
  const audit = await addAuditLine(scene, act, author, auditedTarget(keys, force), report.counts);
  await writeTogether(scene, [...advancing, actedEvents(postgres(scene.t), audit, seqsOf(moves), author.now)]);
  return { ...report, audit };
}

/**
 * Moves events that are held.
 *
 * @returns what advances their queues: `writeTogether` has to follow in the same transaction
 */
export async function saveMoves(scene: Scene, moves: readonly EventMove[], now: number): Promise<readonly Write[]> {
  const reruns = named(moves, 'toPending').map(({ event, move }) => ({ event, content: move.content }));
  if (reruns.length > 0) await toPending(scene, reruns, now);
  await Promise.all([
    rerunProcessed(scene, named(moves, 'processedToPending'), now),
    discard(scene, named(moves, 'discard'), now),
    retryNow(scene, named(moves, 'retry-now'), now),
  ]);
  countMoves(scene.writes.counts, moves);
  const queues = queuesToAdvance(moves);
  if (queues.length === 0) return [];
  const next = await nextInQueues(scene, queues, seenSince(now));
  return [{ text: scene.moves.unpark, values: [eventsToUnpark(next)] }];
}

/** Makes these writes, and those of the counts, in one round trip. A write about no events is left out. */
export async function writeTogether({ session, writes }: Scene, more: readonly Write[]): Promise<void> {
  const about = more.filter(({ values: [first] }) => !Array.isArray(first) || first.length > 0);
  const all = [...about, ...(await writes.countsToWrite())];
  if (all.length === 0) return;
  const { text, values } = inOneStatement(all);
  await session.run(text, values);
}

type Move<N extends ActMove['name']> = EventMove & { readonly move: Extract<ActMove, { name: N }> };

async function rerunProcessed(
  { session, moves }: Scene,
  all: readonly Move<'processedToPending'>[],
  now: number,
): Promise<void> {
  if (all.length === 0) return;
  await session.run(moves.processedToPending, [
    seqsOf(all),
    all.map(({ event }) => keyOrNull(event.type)),
    all.map(({ event }) => keyOrNull(event.entity)),
    now,
  ]);
}

async function discard({ session, moves }: Scene, all: readonly Move<'discard'>[], now: number): Promise<void> {
  const pending = all.filter(({ event }) => event.state === 'pending');
  const dead = all.filter(({ event, move }) => event.state === 'dead' && move.content === null);
  const invalid = all.flatMap(({ event, move }) => (move.content === null ? [] : [{ event, ...move.content }]));
  const writing: Promise<unknown>[] = [];
  if (pending.length > 0) writing.push(session.run(moves.discardPending, [seqsOf(pending), now]));
  if (dead.length > 0) writing.push(session.run(moves.discardDead, [seqsOf(dead), now]));
  if (invalid.length > 0) {
    const seqs = seqsOf(invalid);
    const about = [
      invalid.map(({ type }) => type),
      invalid.map(({ created }) => created?.ms ?? null),
      invalid.map(({ created }) => created?.ns ?? null),
    ];
    writing.push(session.run(moves.describeInvalid, [seqs, ...about]));
    writing.push(session.run(moves.discardInvalid, [seqs, now, invalid.map(({ type }) => keyOrNull(type))]));
  }
  await Promise.all(writing);
}

async function retryNow({ session, moves }: Scene, all: readonly Move<'retry-now'>[], now: number): Promise<void> {
  if (all.length > 0) await session.run(moves.retryNow, [seqsOf(all), now]);
}

function named<N extends ActMove['name']>(moves: readonly EventMove[], name: N): readonly Move<N>[] {
  return moves.filter((each): each is Move<N> => each.move.name === name);
}

export function seqsOf(moves: readonly Pick<EventMove, 'event'>[]): readonly number[] {
  return moves.map(({ event }) => event.seq);
}
