import { assertOption, whole } from '../../option-rules.ts';
import {
  actingOf,
  changedBy,
  CLEARED_AT_ONCE,
  hasEnded,
  mayAdvance,
  MOST_AT_ONCE,
  MOST_CLEARINGS,
  notFilling,
  oldBulks,
  outcomeOf,
  planProgress,
  planSnapshot,
  planStart,
  refuseTooMany,
  SILENT_MS,
  unknownBulk,
  type AlikeEvents,
  type BulkStep,
  type FillingBulk,
  type WorkedEvent,
} from '../rules/bulks.ts';
import { actOn } from './acts-on-events.ts';
import { authorOf, type ActResult, type Acts, type Author, type Bulk, type StoredBulk } from './acts.ts';
import { actedEvents, addLine, recountedLine } from './audit.ts';
import { assertFilter, filterTimes, pageBounds, type EventFilter } from './search.ts';
import {
  actingBy,
  byTables,
  changeAgain,
  type Clock,
  type Dialect,
  type OperatorTables,
  type OperatorTransaction,
  type Statement,
} from './sql.ts';
import { actedInOrder, selectActed, summariesOf } from './summaries.ts';

export function bulks(tables: OperatorTables): Omit<Acts, 'act'> {
  const { dialect, bounds } = tables;
  const { t, list, anyOf, forUpdate, now } = dialect;
  const columns = bulkColumns(dialect);

  async function clearOldBulks(author: (clock: Clock) => Author): Promise<void> {
    // The preview that fills a bulk action finds its creation at 0, and ends.
    const giveUp = `UPDATE ${t.bulks} SET created_ms = 0 WHERE state = 'filling' AND created_ms BETWEEN 1 AND $1`;
    const cancelOld = `
      UPDATE ${t.bulks} SET state = 'cancelled', ended_ms = $2 WHERE state = 'previewed' AND created_ms < $1`;
    const old = `
      bulks.state = 'filling' AND bulks.created_ms = 0 OR bulks.state = 'cancelled' AND bulks.started_ms IS NULL
      OR bulks.state IN ('done', 'cancelled') AND bulks.ended_ms < $1`;
    const clear = dialect.clearBulks(old, '$2');
    for (let clearings = 0; clearings < MOST_CLEARINGS; clearings += 1) {
      const isFirst = clearings === 0;
      const cleared = await tables.change(
        async (tx) => {
          const { now } = author(tx);
          const { fillingSince, previewedBefore, endedBefore } = oldBulks(now);
          if (isFirst) {
            await tx.rows({ text: giveUp, values: [fillingSince] });
            await tx.rows({ text: cancelOld, values: [previewedBefore, now] });
          }
          return (await tx.rows({ text: clear, values: [endedBefore, CLEARED_AT_ONCE] })).length;
        },
        { isRepeatable: true },
      );
      if (cleared < CLEARED_AT_ONCE) return;
    }
  }

  return {
    async createBulk(act, filter, by, force) {
      const author = actingBy(by);
      assertFilter(filter);
      await clearOldBulks(author);
      const text = `
        INSERT INTO ${t.bulks} (act, state, force, filter, actor, reason, created_ms)
        VALUES ($1, 'filling', $2, $3, $4, $5, $6) RETURNING id`;
      return tables.change(async (tx) => {
        const { actor, reason, now } = author(tx);
        const values = [act, force, JSON.stringify(filter), actor, reason, now];
        const [row] = await tx.rows<{ id: number }>({ text, values });
        return row?.id ?? 0;
      });
    },

    async addToBulk(id, seqs) {
      refuseTooMany(seqs);
      const filling = `
        SELECT id, act, force, filter, breakdown, created_ms AS "createdMs" FROM ${t.bulks} WHERE ${FILLING} ${forUpdate}`;
      const selectKnown = `SELECT seq FROM ${t.bulk_events} WHERE bulk = $1 AND ${anyOf('seq', '$2', 'bigint')}`;
      const selectRerun = `
        SELECT value AS seq FROM ${list('$1', 'bigint')} WHERE EXISTS (
          SELECT 1 FROM ${t.attempts} AS attempts WHERE attempts.seq = value AND attempts.trigger = 'manual'
        )`;
      const add = `INSERT INTO ${t.bulk_events} (bulk, seq) SELECT $1, value FROM ${list('$2', 'bigint')}`;
      const count = `UPDATE ${t.bulks} SET total = total + $2, breakdown = $3 WHERE id = $1`;
      const isFilling = await tables.change(async (tx) => {
        const [bulk] = await tx.rows<BulkRow>({ text: filling, values: [id] });
        if (bulk === undefined) return false;
        const events = actedInOrder(seqs, await tx.rows(selectActed(dialect, seqs)));
        const known = await tx.rows<{ seq: number }>({ text: selectKnown, values: [id, seqs] });
        const rerun = await tx.rows<{ seq: number }>({ text: selectRerun, values: [seqs] });
        const setOf = (rows: readonly { readonly seq: number }[]): ReadonlySet<number> =>
          new Set(rows.map(({ seq }) => seq));
        const { added, breakdown } = planSnapshot(fillingOf(bulk), events, setOf(known), setOf(rerun));
        tx.later(
          { text: add, values: [id, added] },
          { text: count, values: [id, added.length, JSON.stringify(breakdown)] },
        );
        return true;
      });
      if (!isFilling) throw notFilling(id);
    },

    async sealBulk(id) {
      const text = `UPDATE ${t.bulks} SET state = 'previewed' WHERE ${FILLING} RETURNING ${columns}`;
      const sealed = await tables.change(async (tx) => {
        return bulkIn(await tx.rows({ text, values: [id] }), tx);
      });
      if (sealed === null) throw notFilling(id);
      return sealed;
    },

    bulk: (id) => tables.read(async (reader) => bulkIn(await reader.rows(selectBulk(dialect, id)), reader)),

    async bulks(page) {
      const { before, limit } = pageBounds(page);
      const text = `SELECT ${columns} FROM ${t.bulks} WHERE id < $1 AND state <> 'filling' ORDER BY id DESC LIMIT $2`;
      return tables.read(async (reader) => {
        const rows = await reader.rows<BulkRow>({ text, values: [before, limit] });
        return rows.map((row) => bulkOf(row, reader));
      });
    },

    async advanceBulk(id, limit, by, options) {
      assertOption('limit', limit, whole(1, MOST_AT_ONCE));
      const author = authorOf(by);
      const { bulk, moved } = await tables.change((tx) => advance(tx, id, limit, byTables(author)(tx), options), {
        dueAt: author.now,
      });
      if (moved) tables.notify();
      if (bulk === null) throw unknownBulk(id);
      return bulk;
    },

    async pauseBulk(id, by) {
      const author = actingBy(by);
      const text = `UPDATE ${t.bulks} SET state = 'paused' WHERE id = $1 RETURNING ${columns}`;
      const paused = await tables.change(async (tx): Promise<StoredBulk | null> => {
        const bulk = bulkIn(await tx.rows(heldBulk(dialect, id)), tx);
        if (bulk === null || bulk.state !== 'running') return bulk;
        await addLine(tx, 'pause', author(tx), { bulk: id }, leftIn(bulk));
        return bulkIn(await tx.rows({ text, values: [id] }), tx);
      });
      if (paused === null) throw unknownBulk(id);
      return paused;
    },

    async resumeBulk(id, by) {
      const author = actingBy(by);
      const text = `
        UPDATE ${t.bulks} SET state = 'running', heartbeat_ms = ${now}, stopped = $2 WHERE id = $1 RETURNING ${columns}`;
      const resumed = await tables.change(async (tx): Promise<StoredBulk | null> => {
        const bulk = bulkIn(await tx.rows(heldBulk(dialect, id)), tx);
        if (bulk === null || (bulk.state !== 'paused' && bulk.state !== 'running')) return bulk;
        await addLine(tx, 'resume', author(tx), { bulk: id }, { left: leftIn(bulk).left });
        return bulkIn(await tx.rows({ text, values: [id, false] }), tx);
      });
      if (resumed === null) throw unknownBulk(id);
      return resumed;
    },

    async bulkEvents(id, { skipped = false, ...page }) {
      const { before, limit } = pageBounds(page);
      const which = skipped ? " AND result <> 'done'" : '';
      const text = `
        SELECT seq, result FROM ${t.bulk_events} WHERE bulk = $1 AND seq < $2${which} ORDER BY bulk DESC, seq DESC LIMIT $3`;
      return tables.read(async (reader) => {
        const rows = await reader.rows<BulkEventRow>({ text, values: [id, before, limit + 1] });
        const shown = rows.slice(0, limit);
        const seqs = shown.map(({ seq }) => seq);
        const found = new Map((await summariesOf(reader, dialect, seqs)).map((event) => [event.seq, event]));
        const events = shown.flatMap(({ seq, result }) => {
          const event = found.get(seq);
          return event === undefined ? [] : [{ event, result }];
        });
        return { events, next: rows.length > limit ? (seqs.at(-1) ?? null) : null };
      });
    },

    async reportBulk(id, stops) {
      const text = `
        UPDATE ${t.bulks} SET ran_ms = ran_ms + ${sinceHeartbeat(now)}, heartbeat_ms = ${now}, stopped = $2 WHERE id = $1`;
      await changeAgain(tables, { text, values: [id, stops] });
    },

    async outcomePart(id, after, limit) {
      assertOption('limit', limit, whole(1, MOST_AT_ONCE));
      return tables.read(async (reader) => {
        const bulk = bulkIn(await reader.rows(selectBulk(dialect, id)), reader);
        if (bulk === null) return null;
        const statement = { text: selectWorked(t), values: [id, after, limit] };
        const worked = await reader.rows<WorkedEvent>(statement);
        const seqs = changedBy(worked);
        const alike = { text: selectAlike(dialect), values: [seqs, bulk.audit] };
        const changed = seqs.length === 0 ? [] : await reader.rows<AlikeEvents>(alike);
        return outcomeOf(worked, changed, limit);
      });
    },

    async cancelBulk(id, by, shown) {
      const author = actingBy(by);
      const text = `UPDATE ${t.bulks} SET state = 'cancelled', ended_ms = $2 WHERE id = $1 RETURNING ${columns}`;
      const cancelled = await tables.change(async (tx): Promise<StoredBulk | null> => {
        const bulk = bulkIn(await tx.rows(heldBulk(dialect, id)), tx);
        if (bulk === null || hasEnded(bulk) || (shown ?? bulk.state) !== bulk.state) return bulk;
        const by = author(tx);
        await addLine(tx, 'cancel', by, { bulk: id }, leftIn(bulk));
        return bulkIn(await tx.rows({ text, values: [id, by.now] }), tx);
      });
      if (cancelled === null) throw unknownBulk(id);
      return cancelled;
    },
  };

  async function advance(
    tx: OperatorTransaction,
    id: number,
    limit: number,
    author: Author,
    { entity, ratePerSecond }: Parameters<Acts['advanceBulk']>[3],
  ): Promise<BulkStep> {
    const slice = tx.timeSlice();
    const held = await tx.rows(heldBulk(dialect, id));
    const bulk = bulkIn(held);
    if (bulk === null || !mayAdvance(bulk)) return { bulk: bulkIn(held, tx), moved: false };
    const start = planStart(bulk, author);
    const audit = bulk.audit ?? (await addLine(tx, bulk.act, start.author, start.target, {}));
    // In Postgres, events before `reached` leave dead entries in the index while another transaction reads.
    const selectOpen = `
      SELECT seq FROM ${t.bulk_events}
      WHERE bulk = CAST($1 AS bigint) AND result IS NULL AND seq > (SELECT reached FROM ${t.bulks} WHERE id = $1)
      ORDER BY seq LIMIT CAST($2 AS bigint)`;
    const rows = await tx.rows<{ seq: number }>({ text: selectOpen, values: [id, limit + 1] });
    const open = rows.map(({ seq }) => seq);
    const acting = actingOf(bulk, author, entity);
    const { results, moves } = await actOn(tx, open.slice(0, limit), acting, bounds.actsAtOnce, slice);
    const { actor, reason, started, worked, counts, state, ended } = planProgress(bulk, author, open, results);
    const save = `
      UPDATE ${t.bulks}
      SET actor = $2, reason = $3, audit = $4, started_ms = $5, worked = $6, counts = $7, state = $8, ended_ms = $9,
        ran_ms = ran_ms + ${sinceHeartbeat(now)}, heartbeat_ms = ${now}, stopped = $10, reached = coalesce($11, reached),
        rate = coalesce($12, rate)
      WHERE id = $1 RETURNING ${columns}`;
    const reached = open[results.length - 1] ?? null;
    const progress = [worked, JSON.stringify(counts), state, ended, false, reached];
    const values = [id, actor, reason, audit, started, ...progress, ratePerSecond?.toString() ?? null];
    const saved = await tx.rows({ text: save, values });
    const note = `UPDATE ${t.bulk_events} SET result = $2 WHERE ${anyOf('seq', '$1', 'bigint')} AND bulk = $3`;
    for (const [result, of] of Map.groupBy(results.keys(), (at) => results[at])) {
      tx.later({ text: note, values: [of.map((at) => open[at]), result, id] });
    }
    const moved = moves.map(({ event }) => event.seq);
    tx.later(recountedLine(t, audit, counts), actedEvents(dialect, audit, moved, author.now));
    return { bulk: bulkIn(saved, tx), moved: results.includes('done') };
  }
}

function leftIn({ worked, total }: StoredBulk): { readonly worked: number; readonly left: number } {
  return { worked, left: total - worked };
}

/** The time in which a process ran the bulk action, up to its report that it stops, or its last report. */
function sinceHeartbeat(now: string): string {
  return `CASE WHEN NOT stopped AND ${now} - heartbeat_ms BETWEEN 0 AND ${SILENT_MS} THEN ${now} - heartbeat_ms ELSE 0 END`;
}

interface BulkEventRow {
  readonly seq: number;
  readonly result: ActResult | null;
}

function selectWorked(t: Dialect['t']): string {
  return `
    SELECT seq, result FROM ${t.bulk_events} WHERE bulk = $1 AND seq > $2 AND result IS NOT NULL
    ORDER BY bulk, seq LIMIT $3`;
}

function selectAlike({ t, list, joinRow, event, state, queued }: Dialect): string {
  return `
    SELECT state, failed, erased, again, count(*) AS count FROM (
      SELECT ${state}, coalesce(${queued}.failures > 0, false) AS failed, events.erased_ms IS NOT NULL AS erased,
        (SELECT 1 FROM ${t.event_acts} AS acts WHERE acts.seq = events.seq AND acts.audit > $2
          AND (SELECT act FROM ${t.audit} AS line WHERE line.seq = acts.audit) <> 'replay' LIMIT 1) IS NOT NULL AS again
      FROM ${list('$1', 'bigint')} ${joinRow(t.events, 'events', (row) => `${row}.seq = value`)} ${event.joins}
    ) AS event GROUP BY state, failed, erased, again`;
}

/** Postgres rejects a prepared `SELECT *` after a newer version has added a column. */
function bulkColumns({ now }: Dialect): string {
  return `id, act, state, force, filter, actor, reason, created_ms AS "createdMs", started_ms AS "startedMs",
    ended_ms AS "endedMs", total, breakdown, worked, counts, rate, ran_ms AS "ranMs", audit, heartbeat_ms AS ms, stopped,
    ${now} - heartbeat_ms AS "silentMs"`;
}

/** A bulk action with a creation at 0 was abandoned. */
const FILLING = "id = $1 AND state = 'filling' AND created_ms > 0";

function selectBulk(dialect: Dialect, id: number): Required<Statement> {
  const text = `SELECT ${bulkColumns(dialect)} FROM ${dialect.t.bulks} WHERE id = $1 AND state <> 'filling'`;
  return { text, values: [id] };
}

/** A second machine that changes the bulk action waits here, so each event is changed only once. */
function heldBulk(dialect: Dialect, id: number): Statement {
  const { text, values } = selectBulk(dialect, id);
  return { text: `${text} ${dialect.forUpdate}`, values };
}

interface BulkRow extends Pick<
  Bulk,
  'id' | 'act' | 'state' | 'actor' | 'reason' | 'total' | 'worked' | 'ranMs' | 'audit'
> {
  readonly force: boolean | 0 | 1;
  readonly filter: string;
  readonly createdMs: number;
  readonly startedMs: number | null;
  readonly endedMs: number | null;
  readonly breakdown: string;
  readonly counts: string;
  readonly rate: string | null;
  readonly ms: number | null;
  readonly stopped: boolean | 0 | 1;
  /** since its last heartbeat, by the clock that wrote it */
  readonly silentMs: number | null;
}

function bulkIn(rows: readonly unknown[] = [], clock?: Clock): StoredBulk | null {
  const [row] = rows as readonly BulkRow[]; // of these statements
  return row === undefined ? null : bulkOf(row, clock);
}

function bulkOf(
  { createdMs, startedMs, endedMs, rate, ms, silentMs, stopped, ...row }: BulkRow,
  { toCaller }: Pick<Clock, 'toCaller'> = { toCaller: (ms) => ms },
): StoredBulk {
  const timeOf = (ms: number | null): Date | null => (ms === null ? null : new Date(toCaller(ms)));
  return {
    ...row,
    filter: filterOf(row.filter),
    force: Boolean(row.force),
    createdAt: new Date(toCaller(createdMs)),
    startedAt: timeOf(startedMs),
    endedAt: timeOf(endedMs),
    breakdown: breakdownOf(row),
    counts: JSON.parse(row.counts) as StoredBulk['counts'], // written by advanceBulk
    ratePerSecond: rate === null ? null : Number(rate),
    heartbeat: ms === null || silentMs === null ? null : { ms, silentMs, stopped: Boolean(stopped) },
  };
}

function fillingOf({ id, act, force, filter, createdMs, ...row }: BulkRow): FillingBulk {
  return { id, act, force: Boolean(force), filter: filterOf(filter), breakdown: breakdownOf(row), createdMs };
}

function breakdownOf({ breakdown }: Pick<BulkRow, 'breakdown'>): Bulk['breakdown'] {
  const stored = JSON.parse(breakdown) as Partial<Bulk['breakdown']>; // written by addToBulk
  return { states: {}, types: {}, deadReasons: {}, endpoints: {}, again: 0, ...stored };
}

function filterOf(json: string): EventFilter {
  return JSON.parse(json, (key, value: unknown) =>
    filterTimes.some((name) => name === key) && typeof value === 'string' ? new Date(value) : value,
  ) as EventFilter; // written by createBulk
}
