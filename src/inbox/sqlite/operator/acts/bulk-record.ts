import type { Act, ActCounts, Bulk } from '../../../operator/acts.ts';
import type { EventFilter } from '../../../operator/filter.ts';
import type { SqliteDatabase } from '../../database.ts';
import { statement } from '../../prepared-statement.ts';

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
export function findBulk(database: SqliteDatabase, id: number): BulkRow | undefined {
  const sql = "SELECT * FROM hookbox_bulks WHERE id = ? AND state != 'filling'";
  return statement(database, sql).get(id) as BulkRow | undefined;
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
