import { logColumn } from '../rules/attempt.ts';
import { planImport, type ImportPlan, type KnownBody } from '../rules/import-events.ts';
import { addToLine } from './audit.ts';
import { noteOutOfOrder } from './finding/indexes.ts';
import { inTime } from './imported-event.ts';
import { keyedEvents, type OperatorTables, type OperatorTransaction, type Rows } from './sql.ts';
import type { ExportedEvent, ImportRecord, Transfer } from './transfer.ts';

export function importing(tables: OperatorTables): Pick<Transfer, 'importSome'> {
  const { dialect } = tables;
  const selectKnown = `SELECT events.endpoint, events.id, ${dialect.knownBody} FROM ${keyedEvents(dialect)}`;

  async function planOf({ rows }: { readonly rows: Rows }, records: readonly ImportRecord[]): Promise<ImportPlan> {
    const keys = records.flatMap((record) => ('event' in record ? [record.event] : []));
    const values = [keys.map(({ id }) => id), keys.map(({ endpoint }) => endpoint)];
    return planImport(records, await rows<KnownBody>({ text: selectKnown, values }));
  }

  return {
    async importSome(records, { audit, dryRun = false } = {}) {
      if (dryRun) return tables.read(async (reader) => (await planOf(reader, records)).counts);
      const counts = await tables.change(async (tx) => {
        const now = tx.timeOf(new Date());
        const inTables = records.map((record) =>
          'event' in record ? { ...record, event: inTime(record.event, { now, trusted: record.trusted }) } : record,
        );
        const plan = await planOf(tx, inTables);
        await save(tx, plan);
        if (audit !== undefined) await addToLine(tx, audit, { ...plan.counts });
        return plan.counts;
      });
      if (counts.imported > 0) tables.notify();
      return counts;
    },
  };
}

async function save(tx: OperatorTransaction, { events, marks }: ImportPlan): Promise<void> {
  tx.raiseMarks(marks);
  if (events.length === 0) return;
  const seqs = await tx.importEvents(events);
  const stored = events.map((event, at) => ({ ...event, seq: seqs[at] ?? 0 }));
  tx.insert(
    'attempts',
    stored.flatMap((event) => attemptsOf(tx, event)),
  );
  tx.insert(
    'redeliveries',
    stored.flatMap(({ seq, redeliveries }) => (redeliveries === null ? [] : [timesOf(seq, redeliveries)])),
  );
  tx.insert(
    'conflicts',
    stored.flatMap(({ seq, conflict }) =>
      conflict === null ? [] : [{ ...timesOf(seq, conflict), body: conflict.body }],
    ),
  );
  tx.insert(
    'steps',
    stored.flatMap(({ seq, steps = [] }) => steps.map(({ atMs, ...step }) => ({ seq, ...step, at_ms: atMs }))),
  );
  await noteOutOfOrder(tx, tx.dialect, seqs[0] ?? 0, seqs.at(-1) ?? 0);
}

function attemptsOf(
  { dialect }: OperatorTransaction,
  { seq, endpoint, attempts }: ExportedEvent & { readonly seq: number },
) {
  return attempts.map(({ number, trigger, outcome, startedMs, endedMs, error, skipped = null, log, ...ran }) => ({
    seq,
    number,
    trigger,
    outcome,
    started_ms: startedMs,
    ended_ms: endedMs,
    error_name: error?.name ?? null,
    error_message: error?.message ?? null,
    error_stack: error?.stack ?? null,
    skipped,
    log: logColumn(log),
    attempt_limit: ran.limit ?? null,
    processor: ran.processor ?? null,
    ...dialect.ofImportedAttempt(endpoint),
  }));
}

function timesOf(seq: number, { count, firstMs, lastMs, recentMs }: NonNullable<ExportedEvent['redeliveries']>) {
  return { seq, count, first_ms: firstMs, last_ms: lastMs, recent: JSON.stringify(recentMs) };
}
