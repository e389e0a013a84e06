import { setImmediate as turn } from 'node:timers/promises';
import { entityOf } from '../../../../events/entity.ts';
import type { EventKey } from '../../../inbox.ts';
import type { PruneCriteria, PrunePosition } from '../../../operations/removal.ts';
import type { DeadReason, EventState } from '../../../state.ts';
import type { SqliteDatabase } from '../../database.ts';
import { statement, type Access } from '../access.ts';
import { pruneCandidates } from './prune-candidates.ts';
import { hasTerm, idsIn, indexedUpTo } from '../search/terms.ts';

/** An event as far as it matters to finding and erasing it. */
export interface EventAbout extends EventKey {
  readonly seq: number;
  readonly type: string | null;
  readonly entity: string | null;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly discarded_ms: number | null;
}

const PAGE = 100;
/** Every event that is dead or ignored and has its body. */
const PUT_AWAY: PruneCriteria = { settledBefore: new Date(8.64e15), states: ['dead', 'ignored'] };

/**
 * The events about an entity: those that the index knows to be about it, and those that were stored as invalid, without
 * an entity, and whose bodies say so.
 */
export async function* eventsAbout(access: Access, entity: string): AsyncGenerator<EventAbout, void> {
  let seen = 0;
  for (;;) {
    const rows = statement(
      access.database(),
      'SELECT seq FROM hookbox_terms WHERE term = ? AND seq > ? ORDER BY seq LIMIT ?',
    ).all(`entity ${entity}`, seen, PAGE) as { seq: number }[];
    for (const { seq } of rows) {
      const event = eventAbout(access.database(), seq, entity);
      if (event !== null) yield event;
      seen = seq;
    }
    if (rows.length < PAGE) break;
    await turn();
  }
  let after: PrunePosition | null = null;
  do {
    const { found, next } = pruneCandidates(access.database(), PUT_AWAY, after, PAGE);
    for (const { seq } of found) {
      const row = rowOf(access.database(), seq);
      if (row === null || !isUnnamed(row)) continue;
      if (wouldBeAbout(access.database(), seq, entity)) yield row;
      // Its body was parsed, and may have had a mebibyte.
      await turn();
    }
    after = next;
    await turn();
  } while (after !== null);
}

/** The event, if it is about the entity now: another body may have taken the place of the one it was found by. */
export function eventAbout(database: SqliteDatabase, seq: number, entity: string): EventAbout | null {
  const row = rowOf(database, seq);
  if (row === null) return null;
  const isAbout = isUnnamed(row)
    ? wouldBeAbout(database, seq, entity)
    : hasTerm(database, row, `entity ${entity}`, indexedUpTo(database));
  return isAbout ? row : null;
}

function rowOf(database: SqliteDatabase, seq: number): EventAbout | null {
  const row = statement(
    database,
    'SELECT seq, endpoint, id, type, entity, state, dead_reason, discarded_ms FROM hookbox_events WHERE seq = ?',
  ).get(seq);
  return row === undefined ? null : (row as EventAbout); // the columns of the statement
}

/** Stored as invalid; somebody may have discarded it since. Other events have no entity because they stand alone. */
function isUnnamed({ entity, dead_reason, discarded_ms }: EventAbout): boolean {
  return entity === null && (dead_reason === 'invalid' || discarded_ms !== null);
}

/** What would name its entity may well stand in its body. */
function wouldBeAbout(database: SqliteDatabase, seq: number, entity: string): boolean {
  const row = statement(database, 'SELECT body FROM hookbox_events WHERE seq = ?').get(seq);
  const { body } = row as { body: Uint8Array | null };
  if (body === null) return false;
  try {
    const name = entityOf(JSON.parse(Buffer.from(body).toString()));
    return name !== null && (name === entity || idsIn(name).includes(entity));
  } catch {
    return false; // its data has another shape altogether
  }
}
