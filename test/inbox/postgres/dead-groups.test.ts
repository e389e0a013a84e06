import { testDeadGroups } from '../../ops/dead-groups.conformance.ts';
import { FAILED, handled } from '../../ops/events-in-states.ts';
import { closedAfter, operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testDeadGroups('groups of dead events in Postgres', async () => {
  const { pool, t, open, bury } = schema();
  const inbox = closedAfter(await open());
  return {
    inbox,
    bury,
    async plantDead(...events) {
      await handled(inbox, FAILED, ...events);
      const planted = `SELECT seq FROM ${t.events} WHERE id = ANY($1)`;
      await pool.query(`UPDATE ${t.shelf} SET fingerprint = NULL WHERE seq IN (${planted})`, [
        events.map(({ id }) => id),
      ]);
    },
    async named() {
      const { rows } = await pool.query<{ id: string }>(
        `SELECT id FROM ${t.shelf} JOIN ${t.events} USING (seq) WHERE fingerprint IS NOT NULL ORDER BY seq`,
      );
      return rows.map(({ id }) => id);
    },
    async fillGroups() {
      await pool.query(`
        WITH stored AS (
          INSERT INTO ${t.events} (endpoint, id, type, created_ms, created_ns, slot, verified, received_ms, body)
          SELECT 'default', 'evt_' || n, 'order.created', 0, 0, n % 4096, true, 0, '{}'::bytea
          FROM generate_series(1, 10250) AS n RETURNING seq
        )
        INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, fingerprint)
        SELECT seq, 'dead', 'failed', 'default', 'order.created', 0, 0,
          CASE WHEN seq <= 10001 THEN 'zzz' ELSE 'group' || lpad(seq::text, 5, '0') END
        FROM stored`);
    },
  };
});
