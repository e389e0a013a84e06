import type { ExportedEvent, ExportedMark } from '../../../operator/export-format.ts';
import type { ImportCounts, ImportRecord, Transfer } from '../../../operator/transfer.ts';
import type { SqliteDatabase } from '../../database.ts';
import { hashOf } from '../../../rules/tombstone.ts';
import type { Statements } from '../../statements.ts';
import type { Access } from '../access.ts';
import { statement } from '../../prepared-statement.ts';
import { addToAuditLine } from '../audit/audit-line.ts';
import { newestSeq } from '../../newest-seq.ts';
import { noteImported } from '../search/seq-ranges.ts';

type Outcome = keyof ImportCounts;
type EventRecord = Extract<ImportRecord, { readonly event: ExportedEvent }>;

export function importing(access: Access): Pick<Transfer, 'importSome'> {
  return {
    async importSome(records, { audit, dryRun = false } = {}) {
      if (dryRun) return countsOf(records, ({ event }) => whatIsHere(access.database(), event) ?? 'imported');
      const counts = await access.write((statements) => {
        const { database } = statements;
        const first = newestSeq(database) + 1;
        for (const record of records) if ('mark' in record) raiseMark(statements, record.mark);
        const counts = countsOf(records, (record) => importEvent(statements, record));
        const last = newestSeq(database);
        // Imported events come behind those that are here, whenever they were received.
        if (last >= first) noteImported(database, first, last);
        if (audit !== undefined) addToAuditLine(database, audit, { ...counts });
        return counts;
      });
      if (counts.imported > 0) access.notify();
      return counts;
    },
  };
}

function countsOf(records: readonly ImportRecord[], outcomeOf: (record: EventRecord) => Outcome): ImportCounts {
  const counts = { imported: 0, known: 0, different: 0 };
  for (const record of records) if ('event' in record) counts[outcomeOf(record)] += 1;
  return counts;
}

/** `null` when the event's key is not known here. */
function whatIsHere(database: SqliteDatabase, event: ExportedEvent): Outcome | null {
  const here = statement(
    database,
    'SELECT body, body_sha256 AS sha256 FROM hookbox_events WHERE id = ? AND endpoint = ?',
  ).get(event.id, event.endpoint) as Bytes | undefined;
  if (here === undefined) return null;
  return isSame(here, event) ? 'known' : 'different';
}

/** A body, or of a tombstone the hash of it. */
type Bytes = Pick<ExportedEvent, 'body' | 'sha256'>;

function isSame(one: Bytes, other: Bytes): boolean {
  if (one.body !== null && other.body !== null) return Buffer.compare(one.body, other.body) === 0;
  return Buffer.compare(hashOfBytes(one), hashOfBytes(other)) === 0;
}

function hashOfBytes({ body, sha256 }: Bytes): Uint8Array {
  return body === null ? (sha256 ?? Buffer.alloc(0)) : hashOf(body);
}

function importEvent(statements: Statements, { event, raisesMark }: EventRecord): Outcome {
  const here = whatIsHere(statements.database, event);
  if (here !== null) return here;
  const { lastInsertRowid: seq } = statements.moves.importEvent.run({
    endpoint: event.endpoint,
    id: event.id,
    type: event.type,
    createdMs: event.created?.ms ?? null,
    createdNs: event.created?.ns ?? null,
    entity: event.entity,
    verified: event.verified ? 1 : 0,
    state: event.state,
    deadReason: event.deadReason,
    receivedMs: event.receivedMs,
    settledMs: event.settledMs,
    dueMs: event.dueMs,
    begun: event.begun,
    failures: event.failures,
    crashes: event.crashes,
    trigger: event.trigger,
    fingerprint: event.fingerprint,
    erasedMs: event.erasedMs,
    discardedMs: event.discardedMs,
    body: event.body,
    sha256: event.sha256,
  });
  importHistory(statements, Number(seq), event);
  const { entity, endpoint, created } = event;
  // As its settlement did where it was handled; of filtered events the export has no marks.
  if (raisesMark && entity !== null && created !== null) raiseMark(statements, { entity, endpoint, created });
  return 'imported';
}

function importHistory(statements: Statements, seq: number, { attempts, redeliveries, conflict }: ExportedEvent): void {
  const { database } = statements;
  for (const { number, trigger, outcome, startedMs, endedMs, error } of attempts) {
    statements.queue.addAttempt.run({
      seq,
      number,
      trigger,
      outcome,
      started: startedMs,
      ended: endedMs,
      name: error?.name ?? null,
      message: error?.message ?? null,
      stack: error?.stack ?? null,
    });
  }
  if (redeliveries !== null) {
    statement(
      database,
      'INSERT INTO hookbox_redeliveries (seq, count, first_ms, last_ms, recent) VALUES (?, ?, ?, ?, ?)',
    ).run(seq, ...occurrencesOf(redeliveries));
  }
  if (conflict !== null) {
    statement(
      database,
      'INSERT INTO hookbox_conflicts (seq, count, first_ms, last_ms, recent, body) VALUES (?, ?, ?, ?, ?, ?)',
    ).run(seq, ...occurrencesOf(conflict), conflict.body);
  }
}

function occurrencesOf({ count, firstMs, lastMs, recentMs }: NonNullable<ExportedEvent['redeliveries']>) {
  return [count, firstMs, lastMs, JSON.stringify(recentMs)] as const;
}

function raiseMark(statements: Statements, { entity, endpoint, created }: ExportedMark): void {
  statements.queue.raiseHighWater.run({ entity, endpoint, created_ms: created.ms, created_ns: created.ns });
}
