import type { Arrivals, EntityQueue, StoredBody } from '../../rules/engine.ts';
import type { KnownEvent } from '../../rules/known-event.ts';
import type { Times } from '../../rules/occurrences.ts';
import { asked } from '../../rules/steps.ts';
import type { DeadReason, EventState } from '../../state.ts';
import type { IncomingEvent } from '../../event.ts';
import type { FirstState } from '../../rules/first-state.ts';
import { fromText, textOrNull, toText } from '../driver/values.ts';
import { keyOrNull } from '../sql/keys.ts';
import { joined, LOST, STATE, timesOf, type TimesColumns } from '../sql/records.ts';
import { slotOf } from '../sql/slots.ts';
import { insertEvents } from './insert-events.ts';
import type { Scene } from './scene.ts';

interface KnownRow {
  readonly seq: number;
  readonly entity: string | null;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly verified: boolean;
  readonly erased: boolean;
  readonly body: Buffer | null;
  readonly body_sha256: Buffer | null;
  readonly lost: boolean;
}

type Known = KnownEvent & StoredBody & { readonly seq: number; readonly entity: string | null };
type Part = Omit<Arrivals, 'counts' | keyof EntityQueue>;

/** Deliveries come in. Of a known event the slot is held: of its entity, and of the one that it may go to (accept-group.ts). */
export function arrivals(scene: Scene): Part {
  const { session, t, moves, index } = scene;
  const times = (table: string, seq: number) =>
    session
      .row<TimesColumns>(`SELECT count, first_ms, last_ms, recent FROM ${table} WHERE seq = $1`, [seq])
      .then(timesOf);
  const columns = ({ count, first, last, recent }: Times) => [count, first, last, JSON.stringify(recent)];
  const done = (changes: Promise<unknown>) => asked(changes.then(() => {}));

  async function known({ endpoint, id }: Pick<IncomingEvent, 'endpoint' | 'id'>): Promise<Known> {
    const row = await session.row<KnownRow>(
      `SELECT events.seq, events.entity, ${STATE}, events.verified, events.erased_ms IS NOT NULL AS erased,
         events.body, events.body_sha256, ${LOST} AS lost
       FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
      [toText(id), toText(endpoint)],
    );
    if (row === undefined) throw new RangeError('a key is known only when its event could not be stored');
    if (row.lost) await session.run(moves.shelveLost, [[row.seq]]);
    const { seq, entity, state, dead_reason: reason, verified, erased, body, body_sha256: hash } = row;
    const named = entity === null ? null : fromText(entity);
    return { seq, entity: named, state, invalid: reason === 'invalid', verified, erased, body, hash };
  }

  async function replace(seq: number, event: IncomingEvent, first: FirstState): Promise<void> {
    const { endpoint, id, type, created, entity, verified, body, trace } = event;
    const slot = slotOf(endpoint, entity, id);
    const about = [created?.ms ?? null, created?.ns ?? null];
    await index.forget(session, t, seq);
    await session.run(moves.replaceEvent, [
      seq,
      textOrNull(type),
      ...about,
      textOrNull(entity),
      slot,
      verified,
      Buffer.from(body),
      textOrNull(trace ?? null),
    ]);
    await index.add(session, t, seq);
    if (first.state === 'dead') {
      const values = [seq, keyOrNull(type), first.settledAt];
      if ((await session.run(moves.shelveInvalid, values)) === 0) await session.run(moves.stayInvalid, values);
    } else if ((await session.run(moves.requeue, [seq, keyOrNull(type), keyOrNull(entity), slot, ...about])) === 0) {
      await session.run(moves.unshelve, [seq, keyOrNull(type), keyOrNull(entity), null, true, true, null]);
    }
  }

  return {
    insert: (event) => asked(insertEvents(session, moves, [event], null).then(([stored]) => stored !== undefined)),
    known: (key) => asked(known(key)),
    markVerified: (seq) => done(session.run(moves.markVerified, [seq])),
    replace: (seq, event, first) => done(replace(seq, event, first)),
    redeliveries: (seq) => asked(times(t.redeliveries, seq)),
    saveRedeliveries: (seq, again) =>
      done(
        session.run(
          `INSERT INTO ${t.redeliveries} (seq, count, first_ms, last_ms, recent) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (seq) DO UPDATE SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent`,
          [seq, ...columns(again)],
        ),
      ),
    conflicts: (seq) => asked(times(t.conflicts, seq)),
    saveConflict: (seq, other, body) =>
      done(
        session.run(
          `INSERT INTO ${t.conflicts} (seq, count, first_ms, last_ms, recent, body) VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (seq) DO UPDATE
           SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent, body = excluded.body`,
          [seq, ...columns(other), Buffer.from(body)],
        ),
      ),
  };
}
