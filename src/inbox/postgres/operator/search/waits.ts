import type { Waits } from '../../../operator/waits.ts';
import { askedOnce } from '../../../rules/asked-once.ts';
import { asked, awaited } from '../../../rules/steps.ts';
import { toldWait, whyWaiting, type Standing, type StandingEvent, type Why } from '../../../rules/why-waiting.ts';
import type { EventKey } from '../../../event.ts';
import type { EventState } from '../../../state.ts';
import type { Session } from '../../driver/session.ts';
import { fromText, toText } from '../../driver/values.ts';
import { bothInOrder, firstOf, leased } from '../../engine/entity-queue.ts';
import type { Scene } from '../../engine/scene.ts';
import { takers } from '../../engine/takers.ts';
import { fromKey, keyOrNull } from '../../sql/keys.ts';
import { createdOf, joined, STATE } from '../../sql/records.ts';
import type { Tables } from '../../sql/tables.ts';
import type { Access } from '../access.ts';
import { summariesOf } from './summary.ts';

interface StandingRow {
  readonly seq: number;
  readonly endpoint: string;
  /** as the queue has it, so that it is compared with others of the queue */
  readonly waiting_type: string | null;
  readonly type: string | null;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly state: EventState;
  readonly crashes: number;
  readonly due_ms: number;
  readonly claimed_ms: number | null;
  readonly yields: boolean;
}

export function waits({ store, ask }: Access): Waits {
  const { database, t, time, scene } = store;
  return {
    waits: (keys, now) =>
      ask(() =>
        database.read(async (session) => {
          await time.follow(session);
          const engine = askedOnce(standing(scene(session)));
          const found: (Why | null)[] = [];
          for (const key of keys) found.push(await awaited(whyWaiting(engine, key, time.toDatabase(now))));
          const blockers = found.flatMap((why) => (why?.reason === 'behind' ? why.seq : []));
          const shown = blockers.length === 0 ? [] : await summariesOf(session, store, [...new Set(blockers)]);
          const told = {
            at: (ms: number) => new Date(time.toCaller(ms)),
            summary: (seq: number) => shown.find((event) => event.seq === seq),
          };
          return found.map((why) => (why === null ? null : toldWait(why, told)));
        }),
      ),
  };

  function standing(place: Scene): Standing {
    const { session } = place;
    const waiting = `lease_until_ms IS NULL AND entity IS NOT NULL AND entity = $1 AND endpoint = $2`;
    return {
      front: (queue, handledSince) => asked(firstOf(place, queue, handledSince)),
      ...takers(place),
      isSuspectRunning() {
        const text = `SELECT 1 FROM ${t.queue} WHERE lease_until_ms IS NOT NULL AND crashes > 0 LIMIT 1`;
        return asked(session.row(text).then((row) => row !== undefined));
      },
      standing: (key) => asked(standingOf(session, t, key)),
      running({ entity, endpoint }) {
        const text = `${leased('seq, claimed_ms', (entity) => `${entity} = $1 AND endpoint = $2`, t)} LIMIT 1`;
        const found = session.row<{ seq: number; claimed_ms: number }>(text, [keyOrNull(entity), toText(endpoint)]);
        return asked(found.then((row) => row && { seq: row.seq, claimedAt: row.claimed_ms }));
      },
      typesBehind({ entity, endpoint }, after, limit) {
        const beyond =
          after === undefined ? '' : 'AND (created_ms, created_ns, seq) > ($4::bigint, $5::integer, $6::bigint)';
        const place = after === undefined ? [] : [after.created.ms, after.created.ns, after.seq];
        const rows = session.rows<{ type: string }>(
          `SELECT type FROM (${bothInOrder('type', `${waiting} ${beyond}`, t, '$3')}) AS both_kinds LIMIT $3`,
          [keyOrNull(entity), toText(endpoint), limit, ...place],
        );
        return asked(rows.then((found) => found.map(({ type }) => fromKey(type))));
      },
    };
  }
}

async function standingOf(session: Session, t: Tables, key: EventKey): Promise<StandingEvent | undefined> {
  const row = await session.row<StandingRow>(
    `SELECT events.seq, events.endpoint, queue.type AS waiting_type, events.type, events.entity, events.created_ms,
       events.created_ns, ${STATE}, coalesce(queue.crashes, shelf.crashes, 0) AS crashes, coalesce(queue.due_ms, 0) AS due_ms,
       queue.claimed_ms, coalesce(queue.yields, false) AS yields
     FROM ${joined(t)} WHERE events.id = $1 AND events.endpoint = $2`,
    [toText(key.id), toText(key.endpoint)],
  );
  if (row === undefined) return undefined;
  return {
    seq: row.seq,
    endpoint: key.endpoint,
    type: row.waiting_type === null ? row.type && fromText(row.type) : fromKey(row.waiting_type),
    entity: row.entity === null ? null : fromText(row.entity),
    created: createdOf(row),
    state: row.state,
    crashes: row.crashes,
    dueAt: row.due_ms,
    claimedAt: row.claimed_ms,
    yields: row.yields,
  };
}
