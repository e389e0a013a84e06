import type { EventSummary } from '../../../operator/search.ts';
import type { Waits } from '../../../operator/waits.ts';
import { askedOnce } from '../../../rules/asked-once.ts';
import { answer, atOnce } from '../../../rules/steps.ts';
import { toldWait, whyWaiting, type Standing } from '../../../rules/why-waiting.ts';
import type { EventState } from '../../../state.ts';
import { frontOf, holdingTypesOf } from '../../engine/entity-queue.ts';
import { takers } from '../../engine/takers.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { prepareNamedStatements } from '../../sql/named-statements.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { WAITING } from '../../sql/queue-statements.ts';
import { createdOf } from '../../sql/records.ts';
import type { Access } from '../access.ts';
import { readTogether } from '../read-together.ts';
import { summaryOfSeq } from './summary.ts';
import { keyIs } from '../../sql/event-key.ts';

interface StandingRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly type: string | null;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly state: EventState;
  readonly crashes: number;
  readonly due_ms: number;
  readonly claimed_ms: number | null;
  readonly yields: 0 | 1;
}

const STANDING = `
  SELECT seq, endpoint, type, entity, created_ms, created_ns, state, crashes, due_ms, claimed_ms, yields
  FROM hookbox_events WHERE ${keyIs()}`;

const RUNNING = `
  SELECT seq, claimed_ms FROM hookbox_events
  WHERE lease_until_ms IS NOT NULL AND entity = :entity AND endpoint = :endpoint LIMIT 1`;

/** The first of those that hold others back, and of those that yield. */
const TYPES_BEHIND = [0, 1]
  .map(
    (yields) => `
  SELECT type FROM (
    SELECT type FROM ${WAITING} AND yields = ${yields} AND (created_ms, created_ns, seq) > (:created_ms, :created_ns, :seq)
    ORDER BY created_ms, created_ns, seq LIMIT +:limit
  )`,
  )
  .join(' UNION ALL ');

/** Before every event there can be. */
const FIRST = { created: { ms: Number.MIN_SAFE_INTEGER, ns: 0 }, seq: 0 };

export function waits(access: Access): Waits {
  return {
    async waits(keys, now) {
      const database = access.database();
      const engine = askedOnce(standing(database));
      // Many wait behind the same one.
      const blockers = new Map<number, EventSummary | undefined>();
      const summary = (seq: number): EventSummary | undefined => {
        if (!blockers.has(seq)) blockers.set(seq, summaryOfSeq(database, seq));
        return blockers.get(seq);
      };
      const told = { at: (ms: number) => new Date(ms), summary };
      return readTogether(database, () =>
        keys.map((key) => {
          const why = atOnce(whyWaiting(engine, key, now));
          return why === null ? null : toldWait(why, told);
        }),
      );
    },
  };
}

function standing(database: SqliteDatabase): Standing {
  const statements = prepareNamedStatements(database);
  return {
    ...takers(statements),
    front: (queue, handledSince) =>
      answer(frontOf(statements, queue, holdingTypesOf(statements, queue.endpoint, handledSince))),
    isSuspectRunning: () => answer(statements.queue.runningSuspect.get() !== undefined),
    standing({ id, endpoint }) {
      const row = statement(database, STANDING).get({ id, endpoint }) as StandingRow | undefined; // its columns
      if (row === undefined) return answer(undefined);
      const { seq, type, entity, state, crashes } = row;
      const created = createdOf(row);
      const times = { dueAt: row.due_ms, claimedAt: row.claimed_ms };
      return answer({
        seq,
        endpoint,
        type,
        entity,
        created,
        state,
        crashes,
        ...times,
        yields: row.yields === 1,
      });
    },
    running({ entity, endpoint }) {
      const row = statement(database, RUNNING).get({ entity, endpoint });
      if (row === undefined) return answer(undefined);
      const { seq, claimed_ms: claimedAt } = row as { seq: number; claimed_ms: number }; // its columns
      return answer({ seq, claimedAt });
    },
    typesBehind({ entity, endpoint }, after, limit) {
      const { created, seq } = after ?? FIRST;
      const from = { created_ms: created.ms, created_ns: created.ns, seq };
      const rows = statement(database, TYPES_BEHIND).all({ entity, endpoint, ...from, limit });
      return answer(rows.slice(0, limit).map((row) => (row as { type: string }).type));
    },
  };
}
