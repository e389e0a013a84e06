import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { tablesIn } from '../../../src/inbox/postgres/sql/tables.ts';
import { proxiedPool } from './pools.ts';

/** No other test file uses the key at the same time. */
const ADVISORY = process.pid;

export interface LateCommit {
  readonly pool: { connect(): Promise<PoolClient> };
  /** The next COMMIT loses its connection, and so do queries until `reconnect`. */
  loseNext(): void;
  reconnect(): void;
  /** Or when the work ends. */
  waitedFor(work: Promise<unknown>): Promise<void>;
  release(): Promise<void>;
}

/** COMMITs wait after they have written rows of the queue. */
export async function withLateCommit(pool: Pool, schema: string, test: (late: LateCommit) => Promise<void>) {
  const { queue } = tablesIn(schema);
  await pool.query(`
    CREATE FUNCTION ${schema}.hold() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN PERFORM pg_advisory_xact_lock(${ADVISORY}); RETURN NULL; END$$;
    CREATE CONSTRAINT TRIGGER hold AFTER INSERT OR UPDATE ON ${queue} DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${schema}.hold()`);
  const holder = await pool.connect();
  await holder.query('SELECT pg_advisory_lock($1)', [ADVISORY]);
  let [isArmed, isDown] = [false, false];
  let pid = 0;
  const lossy = proxiedPool(pool, (client) => ({
    async query(asked) {
      if (isArmed && asked.text === 'COMMIT') {
        [isArmed, isDown] = [false, true];
        client.query(asked).catch(() => {});
        pid = await committing(pool);
      }
      if (!isDown) return client.query(asked);
      throw new Error('Connection terminated unexpectedly');
    },
  }));
  const release = async (): Promise<void> => void (await holder.query('SELECT pg_advisory_unlock_all()'));
  try {
    await test({
      pool: lossy,
      loseNext: () => (isArmed = true),
      reconnect: () => (isDown = false),
      waitedFor: (work) => blockedBy(pool, pid, work),
      release,
    });
  } finally {
    await release();
    holder.release();
    await pool.query(`DROP FUNCTION ${schema}.hold CASCADE`);
  }
}

/** Its COMMIT waits for the test's advisory lock. */
async function committing(pool: Pool): Promise<number> {
  for (;;) {
    const { rows } = await pool.query<{ pid: number }>(
      `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted`,
      [ADVISORY],
    );
    if (rows[0] !== undefined) return rows[0].pid;
    await delay(5);
  }
}

/** Or when the work ends. */
export async function blockedBy(pool: Pool, pid: number, work: Promise<unknown>): Promise<void> {
  const text = 'SELECT 1 FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid))';
  const over = new AbortController();
  const end = (): void => over.abort();
  work.then(end, end);
  while (!over.signal.aborted && (await pool.query(text, [pid])).rowCount === 0) await delay(5);
}
