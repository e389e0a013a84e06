import type { EventKey } from '../../../event.ts';
import type { ActedRow, ActEngine } from '../../../rules/act-on-events.ts';
import type { BodyToday } from '../../../rules/operator-acts.ts';
import { answer, asked, DONE } from '../../../rules/steps.ts';
import { textOrNull } from '../../driver/values.ts';
import { postgresEngine } from '../../engine/postgres-engine.ts';
import type { Scene } from '../../engine/scene.ts';
import { keyOrNull } from '../../sql/keys.ts';
import { slotOf } from '../../sql/slots.ts';
import { bodiesAhead } from './bodies-ahead.ts';
import { nameOf, readActed } from './held-events.ts';

/** What actions write, for many events at once. */
interface Moved {
  readonly pending: number[];
  readonly dead: number[];
  readonly processed: ActedRow[];
  readonly rerun: Rerun[];
  readonly retriedNow: number[];
  now: number;
}

interface Rerun extends BodyToday {
  readonly seq: number;
  readonly slot: number;
}

/**
 * An action in one transaction, on events that were read together and are held (`held`). The rule goes from one to
 * the next, and what it writes of each is written together, before something else depends on it.
 */
export function actEngine(scene: Scene, rows: readonly ActedRow[]): ActEngine & { flush(): Promise<void> } {
  const { session, moves } = scene;
  const engine = postgresEngine(scene);
  const bodyOf = bodiesAhead(scene, rows);
  const unread = new Map<string | number, ActedRow>(rows.map((row) => [nameOf(row), row]));
  for (const row of rows) unread.set(row.seq, row);
  /** what was found of each */
  const found = new Map<string | number, ActedRow>();
  let moved = nothing();

  function noted(row: ActedRow | null): ActedRow | null {
    if (row !== null) found.set(nameOf(row), row).set(row.seq, row);
    return row;
  }

  async function actedAgain(event: EventKey | number): Promise<ActedRow | null> {
    const key = typeof event === 'number' ? found.get(event) : event;
    if (key === undefined) return null; // whoever asks by number has read them
    await writeMoves();
    return noted((await readActed(scene, [key]))[0] ?? null);
  }

  async function writeMoves(): Promise<void> {
    const { pending, dead, processed, rerun, retriedNow, now } = moved;
    moved = nothing();
    const seqs = (of: readonly { readonly seq: number }[]) => of.map(({ seq }) => seq);
    const keys = (of: readonly Pick<Rerun, 'type' | 'entity'>[]) => [
      of.map(({ type }) => keyOrNull(type)),
      of.map(({ entity }) => keyOrNull(entity)),
    ];
    const writing: Promise<unknown>[] = [];
    if (pending.length > 0) writing.push(session.run(moves.discardPending, [pending, now]));
    if (retriedNow.length > 0) writing.push(session.run(moves.retryNow, [retriedNow, now]));
    if (dead.length > 0) writing.push(session.run(moves.discardDead, [dead, now, null]));
    if (processed.length > 0) {
      writing.push(session.run(moves.processedToPending, [seqs(processed), ...keys(processed), now]));
    }
    if (rerun.length > 0) {
      const about = [
        rerun.map(({ type }) => textOrNull(type)),
        rerun.map(({ created }) => created?.ms ?? null),
        rerun.map(({ created }) => created?.ns ?? null),
        rerun.map(({ entity }) => textOrNull(entity)),
        rerun.map(({ slot }) => slot),
      ];
      writing.push(session.run(moves.describeMany, [seqs(rerun), ...about]));
      writing.push(session.run(moves.unshelveMany, [seqs(rerun), ...keys(rerun), now]));
    }
    await Promise.all(writing);
  }

  async function discardInvalid(seq: number, content: NonNullable<Content>, now: number): Promise<void> {
    const { type, created } = content;
    const about = [textOrNull(type), created?.ms ?? null, created?.ns ?? null];
    await Promise.all([
      session.run(moves.describeInvalid, [seq, ...about]),
      session.run(moves.discardDead, [[seq], now, keyOrNull(type)]),
    ]);
  }

  return {
    ...engine,
    acted(event) {
      const name = typeof event === 'number' ? event : nameOf(event);
      const read = unread.get(name);
      // The second time that it is given it is as the first has left it.
      unread.delete(name);
      if (read !== undefined) return answer(noted(read));
      return found.has(name) ? asked(actedAgain(event)) : answer(null);
    },
    bodyOf: (seq) => asked(bodyOf(seq)),
    toPending(key, content, now) {
      const row = found.get(nameOf(key));
      if (row === undefined) return DONE;
      // It joins the queue of another entity, and is found by it.
      if (row.entity !== content.entity) return engine.toPending(key, content, now);
      moved.rerun.push({ ...content, seq: row.seq, slot: slotOf(key.endpoint, content.entity, key.id) });
      moved.now = now;
      return DONE;
    },
    processedToPending(seq, now) {
      const row = found.get(seq);
      if (row !== undefined) moved.processed.push(row);
      moved.now = now;
      return DONE;
    },
    discard(seq, content, now) {
      moved.now = now;
      if (content !== null) return asked(discardInvalid(seq, content, now));
      const row = found.get(seq);
      if (row?.state === 'pending') {
        moved.pending.push(seq);
      } else {
        moved.dead.push(seq);
      }
      return DONE;
    },
    retryNow(seq, now) {
      moved.retriedNow.push(seq);
      moved.now = now;
      return DONE;
    },
    *nextInQueues(queues, handledSince) {
      yield* asked(writeMoves());
      return yield* engine.nextInQueues(queues, handledSince);
    },
    flush: writeMoves,
  };
}

type Content = Parameters<ActEngine['discard']>[1];

function nothing(): Moved {
  return { pending: [], dead: [], processed: [], rerun: [], retriedNow: [], now: 0 };
}
