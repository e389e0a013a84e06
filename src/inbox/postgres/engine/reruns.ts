import type { Reruns } from '../../rules/engine.ts';
import { asked } from '../../rules/steps.ts';
import type { EventKey } from '../../event.ts';
import type { EventState } from '../../state.ts';
import { textOrNull, toText } from '../driver/values.ts';
import { keyOrNull } from '../sql/keys.ts';
import { joined, LOST, STATE } from '../sql/records.ts';
import { slotOf } from '../sql/slots.ts';
import type { Scene } from './scene.ts';

interface RowToRerun {
  readonly seq: number;
  readonly state: EventState;
  readonly pruned: boolean;
  readonly as_read: boolean;
  readonly lost: boolean;
}

export function reruns({ session, t, moves, locks, index }: Scene): Pick<Reruns, 'eventToRerun' | 'toPending'> {
  async function eventToRerun(key: EventKey, readFrom: Uint8Array | undefined) {
    await locks.takeOfKeys([key]);
    const row = await session.row<RowToRerun>(
      `SELECT events.seq, ${STATE}, events.body IS NULL AS pruned, ${LOST} AS lost,
         $3::bytea IS NULL OR events.body IS NOT DISTINCT FROM $3::bytea AS as_read
       FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
      [toText(key.id), toText(key.endpoint), readFrom === undefined ? null : Buffer.from(readFrom)],
    );
    if (row?.lost === true) await session.run(moves.shelveLost, [[row.seq]]);
    return row && { state: row.state, isPruned: row.pruned, isAsRead: row.as_read };
  }

  async function toPending(
    { endpoint, id }: EventKey,
    { type, created, entity }: Parameters<Reruns['toPending']>[1],
    now: number,
  ): Promise<void> {
    const found = await session.row<{ seq: number; entity: string | null }>(
      `SELECT seq, entity FROM ${t.events} WHERE id = $1 AND endpoint = $2`,
      [toText(id), toText(endpoint)],
    );
    if (found === undefined) return;
    const { seq } = found;
    const slot = slotOf(endpoint, entity, id);
    // It joins the queue of another entity, should it get one only now.
    await locks.take([slot]);
    const about = [textOrNull(type), created?.ms ?? null, created?.ns ?? null, textOrNull(entity), slot];
    await session.run(moves.describe, [seq, ...about]);
    // An invalid event has got its entity only now.
    if (textOrNull(entity) !== found.entity) await index.add(session, t, seq);
    await session.run(moves.unshelve, [[seq], [keyOrNull(type)], [keyOrNull(entity)], now, false, true, 'manual']);
  }

  return {
    eventToRerun: (key, readFrom) => asked(eventToRerun(key, readFrom)),
    toPending: (key, content, now) => asked(toPending(key, content, now)),
  };
}
