import { InboxUnavailableError } from '../../../errors.ts';
import {
  coarsenInSteps,
  MOVED_AT_ONCE,
  type CountEngine,
  type CountMove,
  KIND,
  KINDS_KEPT,
} from '../../operator/counts.ts';
import { firstOf } from '../../operator/gauges.ts';
import { PING_LIMIT_MS } from '../../ping.ts';
import { minutesApart } from '../../rules/counted.ts';
import { BEGIN } from '../driver/database.ts';
import { distinctEndpoints, READY } from '../engine/due-events.ts';
import { countsToAdd, given, lists } from '../sql/statements.ts';
import { lastNumber, sequenceOf, wordsOfTaken, rowOf, type Tables } from '../sql/tables.ts';
import type { Store } from '../store.ts';
import { type Access, DEAD_WITH_BODIES } from './access.ts';
import { onShelf } from './search-indexes.ts';

const REJECTED = `${KIND}, count, at_ms, place` as const;

const RETRYING = 'lease_until_ms IS NULL AND failures > 0';

/** True for every row. Without it, Postgres may sort the index of types. */
const BY_DUE = `due_ms + 0 <= ${Number.MAX_SAFE_INTEGER} AND slot >= 0`;

export function countEngine(access: Access): CountEngine {
  const { store, ask } = access;
  const { database, t } = store;
  return {
    addCounts: (clock, rows) => [countsToAdd(t, clock, rows)],
    // Rows are appended, so machines do not wait for each other.
    addRejections: ({ toDatabase }, rejections) => [
      {
        text: `
          INSERT INTO ${t.rejected} (${KIND}, count, first_ms, last_ms)
          SELECT ${KIND}, sum(count), min(at_ms), max(at_ms) FROM ${given(REJECTED)} GROUP BY ${KIND} ORDER BY min(place)`,
        values: lists(
          REJECTED,
          rejections.map(({ at, ...rejection }) => ({ ...rejection, at_ms: toDatabase(at) })),
        ),
      },
    ],
    rejectedKinds: `(
      SELECT min(seq) AS seq, ${KIND}, sum(count)::bigint AS count, min(first_ms) AS first_ms, max(last_ms) AS last_ms
      FROM ${t.rejected} GROUP BY ${KIND}
    ) AS kinds`,
    mergeRejections: () =>
      ask(() => database.alone((session) => session.inOneMessage(inOneTransaction(...mergedRejections(t))))),
    spansAtOnce: 60,
    inSpans: (rows, spans) => [
      {
        from: `unnest($1::bigint[], $2::bigint[]) AS span (since, until)
          CROSS JOIN LATERAL (${rows('span.since', 'span.until')})`,
        values: [spans.map(([since]) => since), spans.map(([, until]) => until)],
      },
    ],
    coarsen: (before) => coarsen(access, before),
    gauges: {
      figures: {
        aside: `${t.queue} WHERE parked`,
        ready: `${t.queue} WHERE ${READY}`,
        retrying: `${t.queue} WHERE ${RETRYING}`,
        processing: `${t.queue} WHERE lease_until_ms IS NOT NULL AND NOT processed`,
        dead: `${t.shelf} WHERE ${DEAD_WITH_BODIES}`,
        ignored: `${t.shelf} WHERE state = 'ignored'`,
        discarded: `${t.shelf} WHERE ${onShelf('discarded')}`,
      },
      readyEndpoints: `endpoints (value) AS (${distinctEndpoints(t.queue, READY, 'endpoint, type')})`,
      candidates: [
        firstOf(`${t.queue} WHERE parked`, 'seq + 0'),
        firstOf(`${t.queue} WHERE ${RETRYING}`, 'seq + 0'),
        `SELECT ready.seq FROM endpoints CROSS JOIN LATERAL (
        ${firstOf(`${t.queue} WHERE ${READY} AND endpoint = endpoints.value AND ${BY_DUE}`, 'due_ms + 0, seq')}
      ) AS ready`,
      ],
      queueRow: `CROSS JOIN ${rowOf(t.queue, 'queue', 'found.seq = candidates.seq')}`,
    },
    tryToWrite: () => ask(() => tryToWrite(store)),
  };
}

/** A closing inbox waits for one step only. */
async function coarsen({ store: { database, t, time }, ask }: Access, before: number): Promise<void> {
  const until = await ask(() =>
    database.alone(async (session) => {
      await time.follow(session);
      return before + minutesApart(time);
    }),
  );
  /** Postgres may not have vacuumed the earlier rows yet. */
  const reached = new Map<CountMove, number>();
  await coarsenInSteps(until, async (move, until) => {
    const message = inOneTransaction(moveSome(t, move, { from: reached.get(move) ?? null, until }));
    const [moved] = await ask(() => database.alone((session) => session.inOneMessage<MovedRow>(message)));
    if (moved === undefined || moved.last === null) return 0;
    reached.set(move, Number(moved.last));
    return Number(moved.count);
  });
}

interface MovedRow {
  readonly count: number | string;
  readonly last: number | string | null;
}

/** Postgres runs all statements, even if this machine freezes. */
function inOneTransaction(...statements: readonly string[]): readonly string[] {
  return [BEGIN, ...statements, 'COMMIT'];
}

/** Skips locked rows, because several machines do this at once. */
function moveSome(
  t: Tables,
  { from, which, at, to }: CountMove,
  { from: since, until }: { readonly from: number | null; readonly until: number },
): string {
  const table = t[from];
  const taken = `
    WITH taken AS (
      DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM ${table} WHERE ${which} AND ${at} < ${until} ${since === null ? '' : `AND ${at} >= ${since}`}
        ORDER BY ${from === 'counts' ? 'minute_ms, seq' : 'per, at_ms, what, detail'} LIMIT ${MOVED_AT_ONCE}
        FOR UPDATE SKIP LOCKED
      )) RETURNING *
    )`;
  const sums = to.map(([per, at]) => `('${per}', ${at})`).join(', ');
  // The order keeps two machines from a deadlock.
  const added = `, added AS (
      INSERT INTO ${t.count_sums} AS known (per, at_ms, what, detail, count)
      SELECT sums.per, sums.at_ms, what, detail, sum(count)
      FROM taken CROSS JOIN LATERAL (VALUES ${sums}) AS sums (per, at_ms) GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
      ON CONFLICT (per, at_ms, what, detail) DO UPDATE SET count = known.count + excluded.count
    )`;
  return `${taken}${sums === '' ? '' : added} SELECT count(*) AS count, max(${at}) AS last FROM taken`;
}

/** Skips rows that another machine is merging. */
function mergedRejections(t: Tables): readonly string[] {
  const taken = (kinds: string): string => `
    DELETE FROM ${t.rejected} WHERE seq = ANY(ARRAY(
      SELECT seq FROM ${t.rejected} WHERE seq = ANY(ARRAY(SELECT unnest(seqs) FROM (${kinds}) AS kinds))
      ORDER BY seq FOR UPDATE SKIP LOCKED
    ))`;
  const kinds = (which: string): string => `SELECT array_agg(seq) AS seqs FROM ${t.rejected} GROUP BY ${KIND} ${which}`;
  return [
    taken(kinds(`ORDER BY max(last_ms) DESC, min(seq) DESC OFFSET ${KINDS_KEPT}`)),
    `WITH taken AS (${taken(kinds('HAVING count(*) > 1'))} RETURNING *)
     INSERT INTO ${t.rejected} (seq, ${KIND}, count, first_ms, last_ms)
     SELECT min(seq), ${KIND}, sum(count), min(first_ms), max(last_ms) FROM taken GROUP BY ${KIND}`,
  ];
}

/** Postgres cancels before the connection counts as silent. */
const ANSWER_MS = PING_LIMIT_MS + 500;

/** A rollback would write nothing to the disk. Locks the tables as a delivery does. */
async function tryToWrite({ database, t }: Store): Promise<void> {
  const numbers = sequenceOf(t, 'events', 'seq');
  const message = [
    BEGIN,
    `SET LOCAL statement_timeout = ${PING_LIMIT_MS}`,
    `SELECT true AS taken FROM ${t.events} WHERE seq = (SELECT 1 + ${lastNumber(numbers)})`,
    `LOCK TABLE ${t.events}, ${t.queue}, ${t.shelf} IN ROW EXCLUSIVE MODE`,
    `INSERT INTO ${t.counts} (minute_ms, what, detail, count) VALUES (0, 'ping', '', 0)`,
    `DELETE FROM ${t.counts} WHERE minute_ms = 0 AND what = 'ping'`,
    'COMMIT',
  ];
  const [row] = await database.alone((session) => session.inOneMessage(message, ANSWER_MS));
  if (row !== undefined) throw new InboxUnavailableError('FAILED', `Postgres: ${wordsOfTaken(numbers)}`);
}
