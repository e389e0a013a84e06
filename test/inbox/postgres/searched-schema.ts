import { START } from '../../helpers/virtual-clock.ts';
import type { SearchedStore } from '../../ops/searched-store.ts';
import { interferedPool } from './interfered-pool.ts';
import type { OperatedSchema } from './operators.ts';
import { forgetIndex } from './planted.ts';

const MINUTE_MS = 60_000;

/** On the schema of a file, empty. */
export async function searchedSchema({ pool, t, open, join }: OperatedSchema): Promise<SearchedStore> {
  const inbox = await open();
  // As a role that may only read: the index cannot be locked.
  const refused = interferedPool(pool, (text) => (text.includes('FOR NO KEY UPDATE') ? { code: '42501' } : null));
  const { operations: readOnly } = join(refused);
  if (readOnly === undefined) throw new Error('operators can look into it');
  return {
    inbox,
    readOnly,
    async bury(id) {
      await pool.query(`UPDATE ${t.events} SET body = NULL, body_sha256 = '\\x00' WHERE id = $1`, [id]);
    },
    async mixPending() {
      await pool.query(`
        UPDATE ${t.queue} SET parked = seq % 3 = 1, fresh = seq % 3 = 2 WHERE lease_until_ms IS NULL;
        WITH taken AS (DELETE FROM ${t.queue} WHERE lease_until_ms IS NULL AND seq % 5 = 0 RETURNING *)
        INSERT INTO ${t.shelf} (seq, state, endpoint, type, settled_ms, due_ms, attempts, failures, fence)
        SELECT seq, CASE seq % 3 WHEN 0 THEN 'discarded' ELSE 'ignored' END, endpoint, type, ${START} + seq * ${MINUTE_MS},
          due_ms, attempts, failures, fence
        FROM taken`);
    },
    async putAway() {
      const { rows } = await pool.query<{ seq: number; at: number }>(
        `SELECT seq::integer, settled_ms::float8 AS at FROM ${t.shelf} WHERE state = 'ignored'`,
      );
      return new Map(rows.map(({ seq, at }) => [seq, new Date(at)]));
    },
    async forgetIndex() {
      await forgetIndex(pool, t);
    },
    async lockIndex() {
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query(`SELECT FROM ${t.progress} FOR UPDATE`);
      return {
        async [Symbol.asyncDispose]() {
          await client.query('ROLLBACK');
          client.release();
        },
      };
    },
    [Symbol.asyncDispose]: () => inbox.close(),
  };
}
