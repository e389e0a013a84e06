// @module-tag longest
/** The cost depends on what is shown, not on the number of events or on statistics. */
import { DatabaseError, type PoolClient } from 'pg';
import { beforeAll, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { BEGIN } from '../../../src/inbox/postgres/driver/database.ts';
import { tableNames } from '../../../src/inbox/postgres/sql/tables.ts';
import { deadGroups } from '../../../src/ops/find.ts';
import { operationsOf } from '../../../src/ops/operations-of.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { times } from '../../helpers/times.ts';
import { counted, DAY, NOON } from '../../ops/counted.ts';
import { FAILED, handled } from '../../ops/events-in-states.ts';
import { interferedPool } from './pools.ts';
import { closedAfter, operatedInboxes, type OperatedSchema } from './operators.ts';
import { planFaults } from './plan-faults.ts';

const opened = operatedInboxes();
const EVENTS = times(1_000_000, 60_000);
const seen = new Map<string, readonly unknown[]>();
let schema: OperatedSchema;
let source: { connect(): Promise<PoolClient> };

beforeAll(() => {
  schema = opened();
  source = interferedPool(schema.pool, (text, values) => {
    seen.set(text, values);
    return null;
  });
});

async function everything(inbox: Inbox): Promise<void> {
  const operations = operationsOf(inbox);
  const { oldest } = await operations.gauges();
  await inbox.announce({ endpoints: '*', types: '*' }, NOON, null);
  await operations.waits([...oldest, { endpoint: 'default', id: 'evt_2' }], NOON);
  await deadGroups(inbox);
  await operations.count([counted(NOON, 'stored', 'order.ready')]);
  await operations.counts(NOON, NOON + DAY);
  await operations.deliveries([{ since: NOON, until: NOON + DAY }], 'minute');
  await operations.totalsIn([{ since: NOON, until: NOON + DAY }]);
  await operations.totals();
  const rejection = { endpoint: 'default', reason: 'signature-mismatch', bytes: 1, sha256: 'a', source: null };
  await operations.noteRejected([{ ...rejection, count: 1, at: NOON }]);
  await operations.rejected(10);
  await operations.noteRelease({ name: 'v1', endpoint: 'default', at: NOON, what: 'began' });
  await operations.noteSecret({ endpoint: 'default', after: NOON, at: NOON });
  await operations.marks(NOON, NOON + DAY);
  await operations.coarsen(NOON + DAY);
  await operations.ping();
}

/**
 * Of eight events, four are processed, one waits, one is dead, one is a dead tombstone, and one is ignored or
 * discarded.
 */
async function fill(): Promise<void> {
  const { pool, t } = schema;
  await pool.query(
    `INSERT INTO ${t.events} (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body_sha256, body)
     SELECT 'endpoint_' || n % 3, 'filled_' || n, 'order.ready', n, 0, 'entity_' || n / 100, n % 4096, true, n,
       CASE WHEN n % 8 = 6 THEN '\\x00'::bytea END, CASE WHEN n % 8 <> 6 THEN '{}'::bytea END
     FROM generate_series(1, $1::integer) AS n`,
    [EVENTS],
  );
  await pool.query(
    `INSERT INTO ${t.queue} (seq, endpoint, type, entity, slot, created_ms, created_ns, due_ms, fresh, parked, failures)
     SELECT seq, endpoint, type, entity, slot, created_ms, 0, received_ms, false, created_ms / 8 % 64 = 1,
       CASE WHEN created_ms / 8 % 64 = 2 THEN 1 ELSE 0 END
     FROM ${t.events} WHERE id LIKE 'filled%' AND created_ms % 8 = 4`,
  );
  await pool.query(
    `INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, fingerprint, pruned)
     SELECT seq, CASE WHEN created_ms % 512 = 7 THEN 'discarded' WHEN created_ms % 8 = 7 THEN 'ignored' ELSE 'dead' END,
       CASE WHEN created_ms % 8 < 7 THEN 'failed' END, endpoint, type, received_ms, received_ms,
       CASE WHEN created_ms % 8 < 7 THEN 'print' || created_ms / 8 % 300 END, created_ms % 8 = 6
     FROM ${t.events} WHERE id LIKE 'filled%' AND created_ms % 8 > 4`,
  );
}

/** Without the sums of all counts, which read new counts whole. */
function scans(): Promise<readonly string[]> {
  const { pool, t } = schema;
  const texts = [...seen.keys()].filter((text) => !(text.includes("per = 'all'") && /^\s*SELECT/.test(text)));
  expect(texts.length).toBeLessThan(seen.size);
  return planFaults(pool, t, texts);
}

const QUERY_CANCELED = '57014';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Relation Name'?: string;
  readonly Plans?: readonly PlanNode[];
}

function lookedAt(node: PlanNode): number {
  const rows = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
  const own = node['Relation Name'] === undefined ? 0 : rows * (node['Actual Loops'] ?? 1);
  return (node.Plans ?? []).reduce((sum, below) => sum + lookedAt(below), own);
}

/** Without an index, the groups would read the whole table again and again. */
async function planOf(client: PoolClient, text: string, values: readonly unknown[]): Promise<PlanNode | undefined> {
  const explained = client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
    [...values],
  );
  try {
    return (await explained).rows[0]?.['QUERY PLAN'][0].Plan;
  } catch (failure) {
    if (failure instanceof DatabaseError && failure.code === QUERY_CANCELED) return undefined;
    throw failure;
  }
}

/** By the first words of each reading statement. */
async function costs(
  of = /^\s*(SELECT|WITH RECURSIVE|WITH candidates)/,
  without?: string,
): Promise<ReadonlyMap<string, number>> {
  const client = await schema.pool.connect();
  const costs = new Map<string, number>();
  try {
    for (const [text, values] of seen) {
      if (!of.test(text)) continue;
      await client.query(BEGIN);
      if (without !== undefined) {
        const index = schema.t.queue.replace(/queue$/, without);
        await client.query(`DROP INDEX ${index}; SET LOCAL statement_timeout = '10s'`);
      }
      const plan = await planOf(client, text, values);
      await client.query('ROLLBACK');
      costs.set(text.replaceAll(/\s+/g, ' ').slice(0, 120), plan === undefined ? Infinity : lookedAt(plan));
    }
  } finally {
    client.release();
  }
  return costs;
}

/** Seven figures of ten thousand, some hundred candidates, a hundred groups, and two ends of two hundred. */
async function expectBounded(): Promise<void> {
  for (const [text, cost] of await costs()) {
    expect(cost, text).toBeLessThan(text.includes('candidates') ? 75_000 : Math.max(EVENTS / 20, 20_000));
  }
}

it(
  'no statement reads a whole table, whatever the statistics say, and each looks at what is shown',
  { timeout: 300_000 },
  async () => {
    const { pool, t, open } = schema;
    const inbox = closedAfter(await open(source));
    const all = tableNames.map((name) => t[name]).join(', ');
    await handled(inbox, FAILED, orderEvent('evt_1'));
    await everything(inbox);
    await pool.query(`ANALYZE ${all}`);
    expect(await scans()).toEqual([]);
    // The statistics are of an almost empty inbox.
    await fill();
    expect(await scans()).toEqual([]);
    await everything(inbox);
    await expectBounded();
    await pool.query(`VACUUM (ANALYZE) ${all}`);
    expect(await scans()).toEqual([]);
    await everything(inbox);
    await expectBounded();
  },
);

it.each([
  ['queue_parked'],
  ['queue_retrying'],
  ['queue_leases'],
  ['queue_due_any'],
  ['shelf_dead'],
  ['shelf_dead_at'],
  ['shelf_ignored'],
  ['shelf_by_state'],
])('would tell if %s were gone', async (index) => {
  const whole = async (without?: string): Promise<number> =>
    [...(await costs(/^\s*(WITH (candidates|RECURSIVE)|SELECT value AS print)/, without)).values()].reduce(
      (a, b) => a + b,
      0,
    );
  expect((await whole(index)) - (await whole())).toBeGreaterThan(5_000);
});
