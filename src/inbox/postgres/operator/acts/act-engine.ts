import type { EventKey } from '../../../event.ts';
import type { ActedRow, ActEngine } from '../../../rules/act-on-events.ts';
import { answer, asked } from '../../../rules/steps.ts';
import type { DeadReason, EventState } from '../../../state.ts';
import { fromText, textOrNull, toText } from '../../driver/values.ts';
import { postgresEngine } from '../../engine/postgres-engine.ts';
import type { Scene } from '../../engine/scene.ts';
import { keyOrNull } from '../../sql/keys.ts';
import { joined, places, STATE } from '../../sql/records.ts';
import { rowOf } from '../../sql/tables.ts';

/** What an act asks for, in one transaction, on events that are held (`held`). */
export function actEngine(scene: Scene, rows: ReadonlyMap<string, ActedRow>): ActEngine {
  const { session, moves } = scene;
  const unread = new Map(rows);
  /** what was found of each, by `seq` */
  const found = new Map<number, ActedRow>();
  const noted = (row: ActedRow | null): ActedRow | null => {
    if (row !== null) found.set(row.seq, row);
    return row;
  };

  async function discard(...[seq, content, now]: Parameters<ActEngine['discard']>): Promise<void> {
    if (content !== null) {
      const { type, created } = content;
      const about = [textOrNull(type), created?.ms ?? null, created?.ns ?? null];
      await session.run(moves.describeInvalid, [seq, ...about]);
    }
    const isPending = found.get(seq)?.state === 'pending';
    if (isPending) await session.run(moves.discardPending, [seq, now]);
    else await session.run(moves.discardDead, [seq, now, keyOrNull(content?.type ?? null)]);
  }

  return {
    ...postgresEngine(scene),
    acted(event) {
      const name = typeof event === 'number' ? '' : nameOf(event);
      const read = unread.get(name);
      // The second time that it is given it is as the first has left it.
      unread.delete(name);
      return read === undefined ? asked(actedRow(scene, event).then(noted)) : answer(noted(read));
    },
    processedToPending(seq, now) {
      const { type = null, entity = null } = found.get(seq) ?? {};
      return asked(
        session.run(moves.processedToPending, [seq, keyOrNull(type), keyOrNull(entity), now]).then(() => {}),
      );
    },
    discard: (...given) => asked(discard(...given)),
  };
}

/**
 * Events that nobody moves or prunes until the transaction ends, as they are then, by their names: one statement reads what the
 * rule asks for one by one.
 */
export async function held(scene: Scene, keys: readonly EventKey[]): Promise<ReadonlyMap<string, ActedRow>> {
  const { session, t, locks } = scene;
  await locks.takeOfKeys(keys);
  // Pruning locks the attempts that have processed an event, and nothing else of it.
  const about = [keys.map(({ id }) => toText(id)), keys.map(({ endpoint }) => toText(endpoint))];
  const given = `unnest($1::text[], $2::text[]) AS given (id, endpoint)`;
  const event = rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint');
  await session.rows(
    `SELECT 1 FROM ${t.attempts} WHERE prunable AND seq = ANY(ARRAY(SELECT events.seq FROM ${given} CROSS JOIN ${event}))
     ORDER BY seq, number FOR UPDATE`,
    about,
  );
  return readActed(scene, keys);
}

/** What `held` reads, of nobody's. */
export async function readActed(
  { session, t }: Pick<Scene, 'session' | 't'>,
  keys: readonly EventKey[],
): Promise<ReadonlyMap<string, ActedRow>> {
  const rows = await session.rows<Columns>(
    `SELECT ${COLUMNS} FROM unnest($1::text[], $2::text[]) AS given (id, endpoint)
     CROSS JOIN ${rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint')} ${places(t)}`,
    [keys.map(({ id }) => toText(id)), keys.map(({ endpoint }) => toText(endpoint))],
  );
  return new Map(rows.map((row) => rowFrom(row)).map((row) => [nameOf(row), row]));
}

async function actedRow({ session, t }: Scene, event: EventKey | number): Promise<ActedRow | null> {
  const [where, values] =
    typeof event === 'number'
      ? ['events.seq = $1', [event]]
      : ['events.id = $1 AND events.endpoint = $2', [toText(event.id), toText(event.endpoint)]];
  const row = await session.row<Columns>(`SELECT ${COLUMNS} FROM ${joined(t)} WHERE ${where}`, values);
  return row === undefined ? null : rowFrom(row);
}

interface Columns {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly type: string | null;
  readonly entity: string | null;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly pruned: boolean;
  readonly discarded: boolean;
  readonly erased: boolean;
  readonly bytes: number;
}

const COLUMNS = `events.seq, events.endpoint, events.id, events.type, events.entity, ${STATE}, events.body IS NULL AS pruned,
  shelf.discarded_ms IS NOT NULL AS discarded, events.erased_ms IS NOT NULL AS erased,
  coalesce(octet_length(events.body), 0) AS bytes`;

function rowFrom({ endpoint, id, type, entity, dead_reason: deadReason, ...row }: Columns): ActedRow {
  return {
    ...row,
    endpoint: fromText(endpoint),
    id: fromText(id),
    type: type === null ? null : fromText(type),
    entity: entity === null ? null : fromText(entity),
    deadReason,
  };
}

export function nameOf({ endpoint, id }: EventKey): string {
  return JSON.stringify([endpoint, id]);
}
