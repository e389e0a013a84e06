import type { Act, ActCounts, Bulk } from '../../../operator/acts.ts';
import type { EventFilter } from '../../../operator/filter.ts';
import type { BulkEngine } from '../../../rules/bulks.ts';
import { answer, DONE } from '../../../rules/steps.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import { statement } from '../../sql/prepared-statement.ts';

/** A row of hookbox_bulks; its CHECKs hold the unions and that the texts are JSON. */
export interface BulkRow {
  readonly id: number;
  readonly act: Act;
  readonly state: Bulk['state'];
  readonly force: 0 | 1;
  readonly filter: string;
  readonly actor: string;
  readonly reason: string | null;
  readonly created_ms: number;
  readonly started_ms: number | null;
  readonly ended_ms: number | null;
  readonly total: number;
  readonly breakdown: string;
  readonly worked: number;
  readonly counts: string;
  readonly audit: number | null;
}

/** One whose snapshot is complete. */
export function findBulk(database: SqliteDatabase, id: number): Bulk | null {
  const sql = "SELECT * FROM hookbox_bulks WHERE id = ? AND state != 'filling'";
  const row = statement(database, sql).get(id) as BulkRow | undefined;
  return row === undefined ? null : bulkOf(row);
}

type Part = Pick<BulkEngine, 'bulk' | 'startBulk' | 'openEvents' | 'noteResult' | 'saveWorked' | 'endBulk'>;

/** Bulks as they are run. */
export function bulkRecords(database: SqliteDatabase): Part {
  const run = (sql: string, ...parameters: readonly unknown[]) => {
    statement(database, sql).run(...parameters);
    return DONE;
  };
  return {
    bulk: (id) => answer(findBulk(database, id)),
    startBulk(id, audit, now) {
      return run("UPDATE hookbox_bulks SET state = 'running', started_ms = ?, audit = ? WHERE id = ?", now, audit, id);
    },
    openEvents(id, limit) {
      const sql = 'SELECT seq FROM hookbox_bulk_events WHERE bulk = +? AND result IS NULL ORDER BY seq LIMIT +?';
      const rows = statement(database, sql).all(id, limit);
      return answer(rows.map((row) => (row as { seq: number }).seq));
    },
    noteResult(id, seq, result) {
      return run('UPDATE hookbox_bulk_events SET result = ? WHERE bulk = ? AND seq = ?', result, id, seq);
    },
    saveWorked(id, worked, counts) {
      return run('UPDATE hookbox_bulks SET worked = ?, counts = ? WHERE id = ?', worked, JSON.stringify(counts), id);
    },
    endBulk(id, state, now) {
      return run('UPDATE hookbox_bulks SET state = ?, ended_ms = ? WHERE id = ?', state, now, id);
    },
  };
}

export function bulkOf(row: BulkRow): Bulk {
  return {
    id: row.id,
    act: row.act,
    state: row.state,
    filter: filterOf(row.filter),
    force: row.force === 1,
    actor: row.actor,
    reason: row.reason,
    createdAt: new Date(row.created_ms),
    startedAt: timeOf(row.started_ms),
    endedAt: timeOf(row.ended_ms),
    total: row.total,
    breakdown: breakdownOf(row),
    worked: row.worked,
    counts: JSON.parse(row.counts) as ActCounts, // written by advanceBulk
    audit: row.audit,
  };
}

export function breakdownOf({ breakdown }: Pick<BulkRow, 'breakdown'>): Bulk['breakdown'] {
  const stored = JSON.parse(breakdown) as Partial<Bulk['breakdown']>; // written by addToBulk
  return { states: {}, types: {}, deadReasons: {}, ...stored };
}

const TIMES = new Set(['since', 'until', 'ignoredSince'] satisfies (keyof EventFilter)[] as string[]);

/** As it was given: JSON has no dates. */
export function filterOf(json: string): EventFilter {
  return JSON.parse(json, (key, value: unknown) =>
    TIMES.has(key) && typeof value === 'string' ? new Date(value) : value,
  ) as EventFilter; // written by createBulk
}

function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
