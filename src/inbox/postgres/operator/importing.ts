import type { EventKey } from '../../event.ts';
import type { ExportedEvent, ImportRecord, Transfer } from '../../operator/transfer.ts';
import { inTime } from '../../operator/imported-event.ts';
import { planImport, type ImportPlan, type KnownBody } from '../../rules/import-events.ts';
import { DatabaseFailure } from '../driver/faults.ts';
import type { Session } from '../driver/session.ts';
import { assertPlaced, type Placed } from '../engine/new-events.ts';
import { type Scene, marksToRaise } from '../engine/transaction.ts';
import { inOneStatement, withRows } from '../sql/statements.ts';
import { keyOrNull, slotOf, rowOf, type Tables } from '../sql/tables.ts';
import { doneOnce } from '../driver/database.ts';
import { type Access, addToAuditLine } from './operator-tables.ts';
import { noteOutOfOrder } from './search-indexes.ts';

type Row = readonly unknown[];

export function importing({ store, ask, notify }: Access): Pick<Transfer, 'importSome'> {
  const { database, t, time, scene } = store;

  async function planOf(session: Session, records: readonly ImportRecord[]): Promise<ImportPlan> {
    return planImport(records, await knownBodies(session, t, records));
  }

  return {
    async importSome(records, { audit, dryRun = false } = {}) {
      if (dryRun) return ask(() => database.read(async (session) => (await planOf(session, records)).counts));
      const counts = await ask(() =>
        doneOnce(store.database, {
          before: (session) => time.follow(session),
          async work(session) {
            const now = time.toDatabase(Date.now());
            const inDatabase = records.map((record) =>
              'event' in record ? { ...record, event: inTime(record.event, { now, trusted: record.trusted }) } : record,
            );
            const plan = await planOf(session, inDatabase);
            await save(scene(session), plan);
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
async function knownBodies(
  session: Session,
  t: Tables,
  records: readonly ImportRecord[],
): Promise<readonly KnownBody[]> {
  const keys = records.flatMap((record) => ('event' in record ? [record.event] : []));
  const rows = await session.rows<EventKey & { readonly hash: Buffer }>(
    `SELECT events.endpoint, events.id, coalesce(events.body_sha256, sha256(events.body)) AS hash
     FROM unnest($1::text[], $2::text[]) AS given (id, endpoint)
       CROSS JOIN ${rowOf(t.events, 'events', 'found.id = given.id AND found.endpoint = given.endpoint')}`,
    [keys.map(({ id }) => id), keys.map(({ endpoint }) => endpoint)],
  );
  return rows.map(({ endpoint, id, hash }) => ({ endpoint, id, body: null, hash }));
}

async function save({ session, t, moves }: Scene, { events, marks }: ImportPlan): Promise<void> {
  const rows = events.map(columnsOf);
  const stored =
    rows.length === 0 ? [] : await session.rows<{ seq: number } & Placed>(moves.importEvents, columns(rows, 25));
  // Somebody else has just stored one of the events. The next try finds it known.
  if (stored.length < events.length) {
    throw new DatabaseFailure(Object.assign(new Error('stored meanwhile'), { code: '40001' }));
  }
  assertPlaced(stored);
  const numbered = events.map((event, at) => ({ ...event, seq: stored[at]?.seq }));
  const times = 'seq, count, first_ms, last_ms, recent';
  const typesOfTimes = '$1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[]';
  const writes = withRows([
    {
      text: `INSERT INTO ${t.attempts} (seq, number, trigger, outcome, endpoint, started_ms, ended_ms, error_name,
         error_message, error_stack, skipped, fence, prunable)
       SELECT *, 0, false FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::bigint[],
         $7::bigint[], $8::text[], $9::text[], $10::text[], $11::text[])`,
      values: columns(numbered.flatMap(attemptsOf), 11),
    },
    {
      text: `INSERT INTO ${t.redeliveries} (${times}) SELECT * FROM unnest(${typesOfTimes})`,
      values: columns(
        numbered.flatMap(({ seq, redeliveries: again }) => (again === null ? [] : [[seq, ...timesOf(again)]])),
        5,
      ),
    },
    {
      text: `INSERT INTO ${t.conflicts} (${times}, body) SELECT * FROM unnest(${typesOfTimes}, $6::bytea[])`,
      values: columns(
        numbered.flatMap(({ seq, conflict: other }) =>
          other === null ? [] : [[seq, ...timesOf(other), Buffer.from(other.body)]],
        ),
        6,
      ),
    },
    marksToRaise(t, marks),
  ]);
  if (writes.length > 0) {
    const { text, values } = inOneStatement(writes);
    await session.run(text, values);
  }
  const [first] = stored;
  if (first === undefined) return;
  await noteOutOfOrder(session, t, first.seq, (stored.at(-1) ?? first).seq);
}

/** As `moves.importEvents` names them. */
function columnsOf(event: ExportedEvent): Row {
  const { endpoint, id, type, created, entity } = event;
  return [
    endpoint,
    id,
    type,
    created?.ms ?? null,
    created?.ns ?? null,
    entity,
    slotOf(endpoint, entity, id),
    event.verified,
    event.receivedMs,
    event.body === null ? null : Buffer.from(event.body),
    event.sha256 === null ? null : Buffer.from(event.sha256),
    event.erasedMs,
    keyOrNull(type),
    keyOrNull(entity),
    event.state,
    event.deadReason,
    event.settledMs,
    event.dueMs,
    event.begun,
    event.failures,
    event.crashes,
    event.trigger,
    event.fingerprint,
    event.trace ?? null,
    event.yields === true,
  ];
}

function attemptsOf({ seq, endpoint, attempts }: ExportedEvent & { readonly seq: number | undefined }): readonly Row[] {
  return attempts.map(({ number, trigger, outcome, startedMs, endedMs, error, skipped }) => {
    const texts = [error?.name, error?.message, error?.stack, skipped].map((text) => text ?? null);
    return [seq, number, trigger, outcome, endpoint, startedMs, endedMs, ...texts];
  });
}

function timesOf({ count, firstMs, lastMs, recentMs }: NonNullable<ExportedEvent['redeliveries']>): Row {
  return [count, firstMs, lastMs, JSON.stringify(recentMs)];
}

function columns(rows: readonly Row[], count: number): unknown[][] {
  return Array.from({ length: count }, (_, at) => rows.map((row) => row[at]));
}
