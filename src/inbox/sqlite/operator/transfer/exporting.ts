import { setImmediate as turn } from 'node:timers/promises';
import { eventLine, markLine, type ExportedEvent } from '../../../operator/export-format.ts';
import type { EventFilter } from '../../../operator/filter.ts';
import type { ExportPage, Transfer } from '../../../operator/transfer.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { EventRow } from '../../sql/records.ts';
import type { Access } from '../access.ts';
import type { AttemptRow } from '../../engine/attempts.ts';
import { statement } from '../../sql/prepared-statement.ts';
import { timesOf } from '../../sql/records.ts';
import { readTogether } from '../read-together.ts';
import { newestSeq } from '../../sql/newest-seq.ts';
import { search } from '../search/event-search.ts';

/** Few enough to be read between two deliveries. */
const PAGE_EVENTS = 100;
const PAGE_BYTES = 1024 * 1024;
const FOUND_AT_ONCE = 500;

/** A row of hookbox_events, with what only the file it is handled in needs to know. */
interface ExportedRow extends EventRow {
  readonly settled_ms: number | null;
  readonly due_ms: number;
  readonly attempts: number;
  readonly failures: number;
  readonly crashes: number;
  readonly trigger: 'auto' | 'manual';
  readonly fingerprint: string | null;
  readonly erased_ms: number | null;
  readonly discarded_ms: number | null;
  readonly body_sha256: Uint8Array | null;
}

interface MarkRow {
  readonly entity: string;
  readonly endpoint: string;
  readonly created_ms: number;
  readonly created_ns: number;
}

export function exporting(access: Access): Pick<Transfer, 'exportPages'> {
  return {
    // At once: what is stored from now on is not among them.
    exportPages: (filter) => exportPagesBefore(access, filter, newestSeq(access.database()) + 1),
  };
}

/** The pages of an export of what was stored before a `seq`. */
export function exportPagesBefore(access: Access, filter: EventFilter, end: number): AsyncGenerator<ExportPage, void> {
  const isWhole = Object.values(filter).every((condition) => condition === undefined);
  return isWhole ? everything(access, end) : whatFits(access, filter, end);
}

async function* everything(access: Access, end: number): AsyncGenerator<ExportPage, void> {
  yield* eventPages(access, seqsBefore(access, end));
  yield* markPages(access);
}

async function* whatFits(access: Access, filter: EventFilter, end: number): AsyncGenerator<ExportPage, void> {
  // Searching goes from the newest to the oldest, so what fits is noted first: a number for each event.
  const found: number[] = [];
  for (let before: number | null = end; before !== null;) {
    const page = await search(access).search(filter, { before, limit: FOUND_AT_ONCE });
    for (const { seq } of page.events) found.push(seq);
    before = page.next;
    await turn();
  }
  yield* eventPages(access, found.toReversed());
}

/** In the order of arrival. */
function* seqsBefore(access: Access, end: number): Generator<number, void> {
  let after = 0;
  for (;;) {
    const rows = statement(
      access.database(),
      'SELECT seq FROM hookbox_events WHERE seq > ? AND seq < ? ORDER BY seq LIMIT +?',
    ).all(after, end, PAGE_EVENTS) as { seq: number }[];
    for (const { seq } of rows) yield seq;
    if (rows.length < PAGE_EVENTS) return;
    after = rows.at(-1)?.seq ?? end;
  }
}

async function* eventPages(access: Access, seqs: Iterable<number>): AsyncGenerator<ExportPage, void> {
  let page: number[] = [];
  let bytes = 0;
  for (const seq of seqs) {
    page.push(seq);
    bytes += bytesOf(access.database(), seq);
    if (page.length < PAGE_EVENTS && bytes < PAGE_BYTES) continue;
    yield pageOf(access.database(), page);
    page = [];
    bytes = 0;
    await turn();
  }
  if (page.length > 0) yield pageOf(access.database(), page);
}

/** SQLite knows the length of a body without reading it. */
function bytesOf(database: SqliteDatabase, seq: number): number {
  const row = statement(
    database,
    `SELECT coalesce(length(body), 0)
       + coalesce((SELECT length(body) FROM hookbox_conflicts WHERE hookbox_conflicts.seq = :seq), 0) AS bytes
     FROM hookbox_events WHERE seq = :seq`,
  ).get({ seq });
  return (row as { bytes: number } | undefined)?.bytes ?? 0;
}

function pageOf(database: SqliteDatabase, seqs: readonly number[]): ExportPage {
  const lines = readTogether(database, () => seqs.flatMap((seq) => lineOf(database, seq) ?? []));
  return { lines, events: lines.length, marks: 0 };
}

function lineOf(database: SqliteDatabase, seq: number): string | null {
  const found = statement(database, 'SELECT * FROM hookbox_events WHERE seq = ?').get(seq);
  if (found === undefined) return null;
  const row = found as ExportedRow;
  return eventLine({
    endpoint: row.endpoint,
    id: row.id,
    type: row.type,
    created: row.created_ms === null ? null : { ms: row.created_ms, ns: row.created_ns ?? 0 },
    entity: row.entity,
    verified: row.verified === 1,
    state: row.state,
    deadReason: row.dead_reason,
    receivedMs: row.received_ms,
    settledMs: row.settled_ms,
    dueMs: row.due_ms,
    begun: row.attempts,
    failures: row.failures,
    crashes: row.crashes,
    trigger: row.trigger,
    fingerprint: row.fingerprint,
    erasedMs: row.erased_ms,
    discardedMs: row.discarded_ms,
    body: row.body,
    sha256: row.body_sha256,
    attempts: attemptsOf(database, seq),
    redeliveries: redeliveriesOf(database, seq),
    conflict: conflictOf(database, seq),
  });
}

function attemptsOf(database: SqliteDatabase, seq: number): ExportedEvent['attempts'] {
  const rows = statement(database, 'SELECT * FROM hookbox_attempts WHERE seq = +? ORDER BY number').all(seq);
  return rows.map((found) => {
    const row = found as AttemptRow;
    const { error_name: name, error_message: message, error_stack: stack } = row;
    return {
      number: row.number,
      trigger: row.trigger,
      outcome: row.outcome,
      startedMs: row.started_ms,
      endedMs: row.ended_ms,
      error: name === null ? null : { name, message, stack },
    };
  });
}

function redeliveriesOf(database: SqliteDatabase, seq: number): ExportedEvent['redeliveries'] {
  return exportedTimes(statement(database, 'SELECT * FROM hookbox_redeliveries WHERE seq = ?').get(seq));
}

function conflictOf(database: SqliteDatabase, seq: number): ExportedEvent['conflict'] {
  const found = statement(database, 'SELECT * FROM hookbox_conflicts WHERE seq = ?').get(seq);
  const times = exportedTimes(found);
  return times === null ? null : { ...times, body: (found as { readonly body: Uint8Array }).body };
}

function exportedTimes(found: unknown): ExportedEvent['redeliveries'] {
  const times = timesOf(found);
  if (times === null) return null;
  const { count, first: firstMs, last: lastMs, recent: recentMs } = times;
  return { count, firstMs, lastMs, recentMs: [...recentMs] };
}

async function* markPages(access: Access): AsyncGenerator<ExportPage, void> {
  let after: Pick<MarkRow, 'entity' | 'endpoint'> = { entity: '', endpoint: '' };
  for (;;) {
    const rows = statement(
      access.database(),
      `SELECT entity, endpoint, created_ms, created_ns FROM hookbox_entities
       WHERE (entity, endpoint) > (?, ?) ORDER BY entity, endpoint LIMIT +?`,
    ).all(after.entity, after.endpoint, PAGE_EVENTS) as MarkRow[];
    if (rows.length > 0) yield { lines: rows.map(lineOfMark), events: 0, marks: rows.length };
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE_EVENTS) return;
    after = last;
    await turn();
  }
}

function lineOfMark({ entity, endpoint, created_ms: createdMs, created_ns: ns }: MarkRow): string {
  return markLine({ entity, endpoint, created: { ms: createdMs, ns } });
}
