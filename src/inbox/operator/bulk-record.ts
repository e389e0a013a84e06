import type { Act, ActCounts, Bulk, StoredBulk } from './acts.ts';
import type { EventFilter } from './filter.ts';

/** A bulk as it is stored; the CHECKs of the table hold the unions, and the texts without a name are JSON. */
export interface BulkRow {
  readonly id: number;
  readonly act: Act;
  readonly state: Bulk['state'];
  readonly force: boolean | 0 | 1;
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
  readonly heartbeat_ms: number | null;
  readonly stopped: boolean | 0 | 1;
  /** since its last heartbeat, by the clock that wrote that */
  readonly silent_ms: number | null;
}

export function bulkOf(row: BulkRow): StoredBulk {
  return {
    id: row.id,
    act: row.act,
    state: row.state,
    filter: filterOf(row.filter),
    force: Boolean(row.force),
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
    heartbeat: heartbeatOf(row),
  };
}

function heartbeatOf({ heartbeat_ms: ms, silent_ms: silentMs, stopped }: BulkRow): StoredBulk['heartbeat'] {
  return ms === null || silentMs === null ? null : { ms, silentMs, stopped: Boolean(stopped) };
}

export function breakdownOf({ breakdown }: Pick<BulkRow, 'breakdown'>): Bulk['breakdown'] {
  const stored = JSON.parse(breakdown) as Partial<Bulk['breakdown']>; // written by addToBulk
  return { states: {}, types: {}, deadReasons: {}, endpoints: {}, ...stored };
}

const TIMES = new Set([
  'since',
  'until',
  'failedSince',
  'failedUntil',
  'ignoredSince',
] satisfies (keyof EventFilter)[] as string[]);

/** As it was given: JSON has no dates. */
export function filterOf(json: string): EventFilter {
  return JSON.parse(json, (key, value: unknown) =>
    TIMES.has(key) && typeof value === 'string' ? new Date(value) : value,
  ) as EventFilter; // written by createBulk
}

function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
