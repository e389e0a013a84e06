import { fromJson } from '../../driver/values.ts';
import type { ExportedEvent } from '../../../operator/export-format.ts';
import type { DeadReason, EventState } from '../../../state.ts';
import { createdOf, joined, STATE } from '../../sql/records.ts';
import { rowOf, type Tables } from '../../sql/tables.ts';

interface AttemptRow {
  readonly number: number;
  readonly trigger: 'auto' | 'manual';
  readonly outcome: 'processed' | 'failed' | 'crashed' | 'interrupted';
  readonly started_ms: number;
  readonly ended_ms: number;
  readonly error_name: string | null;
  readonly error_message: string | null;
  readonly error_stack: string | null;
  readonly skipped: string | null;
}

interface TimesRow {
  readonly count: number;
  readonly first_ms: number;
  readonly last_ms: number;
  readonly recent: string;
}

/** Where an event stands, of whichever table says so. */
interface PlaceRow {
  readonly due_ms: number;
  readonly attempts: number;
  readonly failures: number;
  readonly crashes: number;
  readonly trigger: 'auto' | 'manual';
  readonly settled_ms: number | null;
  readonly fingerprint: string | null;
  readonly yields: boolean;
}

export interface ExportedRow {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly type: string | null;
  readonly created_ms: number | null;
  readonly created_ns: number | null;
  readonly entity: string | null;
  readonly verified: boolean;
  readonly state: EventState;
  readonly dead_reason: DeadReason | null;
  readonly received_ms: number;
  readonly erased_ms: number | null;
  readonly body: Buffer | null;
  readonly body_sha256: Buffer | null;
  readonly trace: string | null;
  /** JSON; `null` of an event that was processed here, which stands nowhere any more */
  readonly place: string | null;
  readonly attempts: string | null;
  readonly again: string | null;
  readonly other: string | null;
  readonly other_body: Buffer | null;
}

/** Events with everything that is kept about them, by a condition on `events`, in one statement: so it is of one moment. */
export function selectExported(t: Tables, where: string): string {
  const same = 'found.seq = events.seq';
  const object = (of: string, columns: readonly string[]): string =>
    `json_build_object(${columns.map((column) => `'${column}', ${of}.${column}`).join(', ')})`;
  const counted = ['due_ms', 'attempts', 'failures', 'crashes', 'trigger'];
  const ofAttempt = [
    'number',
    'trigger',
    'outcome',
    'started_ms',
    'ended_ms',
    'error_name',
    'error_message',
    'error_stack',
    'skipped',
  ];
  const times = (of: string): string =>
    `CASE WHEN ${of}.seq IS NOT NULL THEN ${object(of, ['count', 'first_ms', 'last_ms', 'recent'])}::text END AS ${of}`;
  return `
    SELECT events.seq, events.endpoint, events.id, events.type, events.created_ms, events.created_ns, events.entity,
      events.verified, ${STATE}, events.received_ms, events.erased_ms, events.body, events.body_sha256, events.trace,
      CASE WHEN queue.seq IS NOT NULL THEN ${object('queue', [...counted, 'yields'])}
        WHEN shelf.seq IS NOT NULL THEN ${object('shelf', [...counted, 'settled_ms', 'fingerprint'])}
        WHEN imported.seq IS NOT NULL THEN ${object('imported', [...counted, 'settled_ms'])} END::text AS place,
      (SELECT json_agg(${object('ran', ofAttempt)} ORDER BY number)::text FROM ${t.attempts} AS ran WHERE ran.seq = events.seq)
        AS attempts,
      ${times('again')}, ${times('other')}, other.body AS other_body
    FROM ${joined(t)}
      LEFT JOIN ${rowOf(t.imported, 'imported', same)} ON true
      LEFT JOIN ${rowOf(t.redeliveries, 'again', same)} ON true
      LEFT JOIN ${rowOf(t.conflicts, 'other', same)} ON true
    WHERE ${where} ORDER BY events.seq`;
}

export function exportedEvent(row: ExportedRow): ExportedEvent {
  const attempts = attemptsOf(row);
  const again = timesOf(row.again);
  const other = timesOf(row.other);
  const place = row.place === null ? processedPlace(row, attempts) : (fromJson(row.place) as Partial<PlaceRow>);
  return {
    endpoint: row.endpoint,
    id: row.id,
    type: row.type,
    created: createdOf(row),
    entity: row.entity,
    verified: row.verified,
    state: row.state,
    deadReason: row.dead_reason,
    receivedMs: row.received_ms,
    settledMs: place.settled_ms ?? null,
    dueMs: place.due_ms ?? row.received_ms,
    begun: place.attempts ?? 0,
    failures: place.failures ?? 0,
    crashes: place.crashes ?? 0,
    trigger: place.trigger ?? 'auto',
    fingerprint: place.fingerprint ?? null,
    erasedMs: row.erased_ms,
    body: row.body,
    sha256: row.body_sha256,
    attempts,
    redeliveries: again,
    conflict: other === null || row.other_body === null ? null : { ...other, body: row.other_body },
    ...(row.trace !== null && { trace: row.trace }),
    ...(place.yields === true && { yields: true }),
  };
}

/** Of what was processed here its attempts say the rest: since it was stored or rerun last, some have failed. */
function processedPlace(row: ExportedRow, attempts: ExportedEvent['attempts']): Partial<PlaceRow> {
  const since = attempts.findLastIndex(({ trigger }) => trigger === 'manual');
  const run = attempts.slice(Math.max(since, 0));
  const last = attempts.at(-1);
  return {
    settled_ms: attempts.findLast(({ outcome }) => outcome === 'processed')?.endedMs ?? row.received_ms,
    due_ms: attempts.length > 1 ? (last?.startedMs ?? row.received_ms) : row.received_ms,
    attempts: last?.number ?? 0,
    failures: run.filter(({ outcome }) => outcome === 'failed').length,
    crashes: run.filter(({ outcome }) => outcome === 'crashed').length,
  };
}

function attemptsOf({ attempts }: ExportedRow): ExportedEvent['attempts'] {
  const rows = fromJson(attempts ?? '[]') as readonly AttemptRow[];
  return rows.map(({ error_name: name, error_message: message, error_stack: stack, ...row }) => ({
    number: row.number,
    trigger: row.trigger,
    outcome: row.outcome,
    startedMs: row.started_ms,
    endedMs: row.ended_ms,
    error: name === null ? null : { name, message, stack },
    ...(row.skipped !== null && { skipped: row.skipped }),
  }));
}

function timesOf(text: string | null): ExportedEvent['redeliveries'] {
  if (text === null) return null;
  const { count, first_ms: firstMs, last_ms: lastMs, recent } = JSON.parse(text) as TimesRow;
  return { count, firstMs, lastMs, recentMs: JSON.parse(recent) as number[] };
}
