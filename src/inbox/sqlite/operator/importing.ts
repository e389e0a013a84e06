import type { ExportedEvent, ImportRecord, Transfer } from '../../operator/transfer.ts';
import { planImport, type ImportPlan, type KnownBody } from '../../rules/import-events.ts';
import type { StoredBody } from '../../rules/accept.ts';
import { timesColumns } from '../engine/deliveries.ts';
import { markOf, type Statements } from '../engine/sqlite-store.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { createdColumns, errorColumns } from '../sql/rows.ts';
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

function insert({ moves, queue }: Statements, event: ExportedEvent): number {
  const { created, verified, body, trace, yields, attempts, redeliveries, conflict, ...columns } = event;
  const { lastInsertRowid } = moves.importEvent.run({
    ...columns,
    ...createdColumns(created),
    verified: Number(verified),
    body,
    trace: trace ?? null,
    yields: Number(yields === true),
  });
  const seq = Number(lastInsertRowid);
  for (const { number, trigger, outcome, startedMs: started, endedMs: ended, error, skipped = null } of attempts) {
    const attempt = { number, trigger, outcome, started, ended, ...errorColumns(error), skipped };
    queue.addAttempt.run({ seq, ...attempt, foundBy: null });
  }
  if (redeliveries !== null) queue.saveRedeliveries.run(seq, ...timesOf(redeliveries));
  if (conflict !== null) queue.saveConflict.run(seq, ...timesOf(conflict), conflict.body);
  return seq;
}

function timesOf({ count, firstMs, lastMs, recentMs }: NonNullable<ExportedEvent['redeliveries']>) {
  return timesColumns({ count, first: firstMs, last: lastMs, recent: recentMs });
}
