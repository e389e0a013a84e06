import type { ExportedEvent, ImportRecord, Transfer } from '../../operator/transfer.ts';
import { planImport, type ImportPlan, type KnownBody } from '../../rules/import-events.ts';
import type { StoredBody } from '../../rules/accept.ts';
import { markOf, type Statements } from '../engine/sqlite-store.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { keyIs, statement } from '../sql/statement.ts';
import { type Access, addToAuditLine } from './access.ts';
import { noteOutOfOrder } from './search-indexes.ts';

export function importing(access: Access): Pick<Transfer, 'importSome'> {
  return {
    async importSome(records, { audit, dryRun = false } = {}) {
      if (dryRun) return planImport(records, knownBodies(access.database(), records)).counts;
      const counts = await access.write((statements) => {
        const { database } = statements;
        const plan = planImport(records, knownBodies(database, records));
        save(statements, plan);
        if (audit !== undefined) addToAuditLine(database, audit, { ...plan.counts });
        return plan.counts;
      });
      if (counts.imported > 0) access.notify();
      return counts;
    },
  };
}

function knownBodies(database: SqliteDatabase, records: readonly ImportRecord[]): readonly KnownBody[] {
  const select = statement(database, `SELECT body, body_sha256 AS hash FROM hookbox_events WHERE ${keyIs()}`);
  return records.flatMap((record) => {
    if (!('event' in record)) return [];
    const { endpoint, id } = record.event;
    const row = select.get({ id, endpoint }) as StoredBody | undefined;
    return row === undefined ? [] : [{ endpoint, id, ...row }];
  });
}

function save(statements: Statements, { events, marks }: ImportPlan): void {
  const seqs = events.map((event) => insert(statements, event));
  for (const mark of marks) statements.queue.raiseHighWater.run(markOf(mark));
  const [first] = seqs;
  if (first === undefined) return;
  noteOutOfOrder(statements.database, first, seqs.at(-1) ?? first);
}

function insert({ moves, queue, known }: Statements, event: ExportedEvent): number {
  const { lastInsertRowid } = moves.importEvent.run({
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
    body: event.body,
    sha256: event.sha256,
    trace: event.trace ?? null,
    yields: event.yields === true ? 1 : 0,
  });
  const seq = Number(lastInsertRowid);
  const { attempts, redeliveries, conflict } = event;
  for (const { number, trigger, outcome, startedMs, endedMs, error, skipped } of attempts) {
    queue.addAttempt.run({
      foundBy: null,
      seq,
      number,
      trigger,
      outcome,
      started: startedMs,
      ended: endedMs,
      name: error?.name ?? null,
      message: error?.message ?? null,
      stack: error?.stack ?? null,
      skipped: skipped ?? null,
    });
  }
  if (redeliveries !== null) known.saveRedeliveries.run(seq, ...timesOf(redeliveries));
  if (conflict !== null) known.saveConflict.run(seq, ...timesOf(conflict), conflict.body);
  return seq;
}

function timesOf({ count, firstMs, lastMs, recentMs }: NonNullable<ExportedEvent['redeliveries']>) {
  return [count, firstMs, lastMs, JSON.stringify(recentMs)] as const;
}
