import type { ExportedEvent, ImportRecord, Transfer } from '../../operator/transfer.ts';
import { inTime } from '../../operator/imported-event.ts';
import { planImport, type ImportPlan, type KnownBody } from '../../rules/import-events.ts';
import { DatabaseFailure } from '../driver/faults.ts';
import { assertPlaced, type Placed } from '../engine/accepted-events.ts';
import { marksToRaise } from '../engine/apply-changes.ts';
import type { Reading, Transaction } from '../engine/transaction.ts';
import { contentColumns } from '../sql/records.ts';
import { eventOfKey, given, lists, writeTogether } from '../sql/statements.ts';
import { slotOf } from '../sql/tables.ts';
import { doneOnce } from '../driver/database.ts';
import { type Access, addToAuditLine } from './operator-tables.ts';
import { noteOutOfOrder } from './search-indexes.ts';

export function importing({ store, ask, notify }: Access): Pick<Transfer, 'importSome'> {
  const { database, t, time, within } = store;

  return {
    async importSome(records, { audit, dryRun = false } = {}) {
      if (dryRun) return ask(() => database.read(async (session) => (await planOf({ session, t }, records)).counts));
      const counts = await ask(() =>
        doneOnce(database, {
          before: (session) => time.follow(session),
          async work(session) {
            const now = time.toDatabase(Date.now());
            const inDatabase = records.map((record) =>
              'event' in record ? { ...record, event: inTime(record.event, { now, trusted: record.trusted }) } : record,
            );
            const plan = await planOf({ session, t }, inDatabase);
            await save(within(session), plan);
            if (audit !== undefined) await addToAuditLine({ session, t }, audit, { ...plan.counts });
            return plan.counts;
          },
        }),
      );
      if (counts.imported > 0) notify();
      return counts;
    },
  };
}

/** The database sends hashes, because bodies can be large. */
async function planOf({ session, t }: Reading, records: readonly ImportRecord[]): Promise<ImportPlan> {
  const keys = records.flatMap((record) => ('event' in record ? [record.event] : []));
  const known = await session.rows<KnownBody>(
    `SELECT events.endpoint, events.id, NULL AS body, coalesce(events.body_sha256, sha256(events.body)) AS hash FROM ${eventOfKey(t)}`,
    lists('id, endpoint', keys),
  );
  return planImport(records, known);
}

const ATTEMPT =
  'seq, number, trigger, outcome, endpoint, started_ms, ended_ms, error_name, error_message, error_stack, skipped';
const TIMES = 'seq, count, first_ms, last_ms, recent';

async function save({ session, t, moves }: Transaction, { events, marks }: ImportPlan): Promise<void> {
  const importing = moves.importEvents(events.map(columnsOf));
  const stored = events.length === 0 ? [] : await session.rows<{ seq: number } & Placed>(importing);
  // Another transaction has just stored one of the events. The next try finds it known.
  if (stored.length < events.length) {
    throw new DatabaseFailure(Object.assign(new Error('stored meanwhile'), { code: '40001' }));
  }
  assertPlaced(stored);
  const numbered = events.map((event, at) => ({ ...event, seq: stored[at]?.seq }));
  const conflicts = `${TIMES}, body` as const;
  await writeTogether(session, [
    {
      text: `INSERT INTO ${t.attempts} (${ATTEMPT}, fence, prunable) SELECT *, 0, false FROM ${given(ATTEMPT)}`,
      values: lists(ATTEMPT, numbered.flatMap(attemptsOf)),
    },
    {
      text: `INSERT INTO ${t.redeliveries} (${TIMES}) SELECT * FROM ${given(TIMES)}`,
      values: lists(
        TIMES,
        numbered.flatMap(({ seq, redeliveries }) => (redeliveries === null ? [] : [timesOf(seq, redeliveries)])),
      ),
    },
    {
      text: `INSERT INTO ${t.conflicts} (${conflicts}) SELECT * FROM ${given(conflicts)}`,
      values: lists(
        conflicts,
        numbered.flatMap(({ seq, conflict }) =>
          conflict === null ? [] : [{ ...timesOf(seq, conflict), body: conflict.body }],
        ),
      ),
    },
    marksToRaise(t, marks),
  ]);
  const [first] = stored;
  if (first === undefined) return;
  await noteOutOfOrder({ session, t }, first.seq, (stored.at(-1) ?? first).seq);
}

function columnsOf(event: ExportedEvent) {
  return {
    ...event,
    ...contentColumns(event),
    slot: slotOf(event.endpoint, event.entity, event.id),
    received_ms: event.receivedMs,
    trace: event.trace ?? null,
    body_sha256: event.sha256,
    erased_ms: event.erasedMs,
    dead_reason: event.deadReason,
    settled_ms: event.settledMs,
    due_ms: event.dueMs,
    attempts: event.begun,
    yields: event.yields === true,
  };
}

function attemptsOf({ seq, endpoint, attempts }: ExportedEvent & { readonly seq: number | undefined }) {
  return attempts.map(({ number, trigger, outcome, startedMs, endedMs, error, skipped }) => ({
    seq,
    number,
    trigger,
    outcome,
    endpoint,
    started_ms: startedMs,
    ended_ms: endedMs,
    error_name: error?.name ?? null,
    error_message: error?.message ?? null,
    error_stack: error?.stack ?? null,
    skipped: skipped ?? null,
  }));
}

function timesOf(seq: number | undefined, times: NonNullable<ExportedEvent['redeliveries']>) {
  const { count, firstMs, lastMs, recentMs } = times;
  return { seq, count, first_ms: firstMs, last_ms: lastMs, recent: JSON.stringify(recentMs) };
}
