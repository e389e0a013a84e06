// @module-tag longest
import { testCounts, type CountedStore } from '../../ops/counts.conformance.ts';
import { testMarks } from '../../ops/marks.conformance.ts';
import { testMetrics } from '../../ops/metrics.conformance.ts';
import { testStats } from '../../ops/stats.conformance.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

async function countedSchema(): Promise<CountedStore> {
  const { pool, t, open, join, bury } = schema();
  return {
    inbox: closedAfter(await open()),
    another: async () => closedAfter(join()),
    bury,
    async fill({ state, count, parked = false, failures }) {
      const { rows } = await pool.query<{ first: number }>(
        `WITH stored AS (
           INSERT INTO ${t.events} (endpoint, id, type, created_ms, created_ns, slot, verified, received_ms, body)
           SELECT 'default', $1::text || $2::boolean || $4::integer || '_' || n, 'order.ready', 1, 0, n % 4096, true, 1, '\\x00'
           FROM generate_series(1, $3::integer) AS n RETURNING seq
         ) SELECT min(seq)::integer AS first FROM stored`,
        [state, parked, count, failures],
      );
      const from = `FROM ${t.events} WHERE seq >= $1`;
      await (state === 'pending'
        ? pool.query(
            `INSERT INTO ${t.queue} (seq, endpoint, type, slot, created_ms, created_ns, due_ms, fresh, parked, failures)
             SELECT seq, endpoint, type, slot, 1, 0, 1, false, $2, $3 ${from}`,
            [rows[0]?.first, parked, failures],
          )
        : pool.query(
            `INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms)
             SELECT seq, $2::text, CASE WHEN $2 = 'dead' THEN 'failed' END, endpoint, type, 1, 1 ${from}`,
            [rows[0]?.first, state],
          ));
    },
    sums: async () => (await pool.query(`SELECT * FROM ${t.count_sums} ORDER BY per, at_ms, what, detail`)).rows,
  };
}

testCounts('counts in Postgres', countedSchema);
testMarks('marks in Postgres', countedSchema);

testStats('stats in Postgres', async () => closedAfter(await schema().open()));

testMetrics('metrics in Postgres', async () => {
  const { open, join } = schema();
  return { inbox: closedAfter(await open()), another: async () => closedAfter(join()) };
});
