import type { Pool } from 'pg';
import { onTestFinished } from 'vitest';
import type { IncomingEvent } from '../../../src/inbox/event.ts';
import { toParameter } from '../../../src/inbox/postgres/driver/session.ts';
import { toKey, SLOTS, slotOf, type Tables } from '../../../src/inbox/postgres/sql/tables.ts';

/** Many dead events with an attempt each, without handlers. */
export async function plantDead(pool: Pool, t: Tables, ...events: readonly IncomingEvent[]): Promise<void> {
  const column = (value: (event: IncomingEvent) => unknown): unknown[] => events.map(value);
  await pool.query(
    `WITH given AS (
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::integer[], $6::text[], $7::smallint[],
         $8::bigint[], $9::bytea[], $10::text[]) WITH ORDINALITY
         AS given (endpoint, id, type, created_ms, created_ns, entity, slot, received_ms, body, type_key, place)
     ), stored AS (
       INSERT INTO ${t.events} (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body)
       SELECT endpoint, id, type, created_ms, created_ns, entity, slot, true, received_ms, body FROM given ORDER BY place
       RETURNING seq, endpoint, id
     ), about AS (
       SELECT stored.seq, given.* FROM stored JOIN given USING (endpoint, id)
     ), shelved AS (
       INSERT INTO ${t.shelf} (seq, state, dead_reason, endpoint, type, settled_ms, due_ms, attempts, failures)
       SELECT seq, 'dead', 'failed', endpoint, type_key, received_ms + 2, received_ms, 1, 1 FROM about
     ), noted AS (
       INSERT INTO ${t.unindexed} SELECT min(seq), count(*), array_agg(seq) FROM stored HAVING count(*) > 0
     )
     INSERT INTO ${t.attempts}
       (seq, number, trigger, outcome, fence, endpoint, started_ms, ended_ms, prunable, error_name, error_message)
     SELECT seq, 1, 'auto', 'failed', 1, endpoint, received_ms + 1, received_ms + 2, false, 'Error', 'the shop is down'
     FROM about`,
    [
      column(({ endpoint }) => endpoint),
      column(({ id }) => id),
      column(({ type }) => (type === null ? null : toParameter(type))),
      column(({ created }) => created?.ms ?? null),
      column(({ created }) => created?.ns ?? null),
      column(({ entity }) => (entity === null ? null : toParameter(entity))),
      column(({ endpoint, entity, id }) => slotOf(endpoint, entity, id)),
      column(({ receivedAt }) => receivedAt),
      column(({ body }) => Buffer.from(body)),
      column(({ type }) => (type === null ? null : toKey(type))),
    ],
  );
}

/** No event is indexed. */
export async function forgetIndex(pool: Pool, t: Tables): Promise<void> {
  await pool.query(
    `DELETE FROM ${t.terms}; DELETE FROM ${t.unindexed};
     INSERT INTO ${t.unindexed} SELECT min(seq), count(*), array_agg(seq) FROM ${t.events} GROUP BY seq / 500`,
  );
}

/** As pruning leaves it. */
export async function bury(pool: Pool, t: Tables, id: string): Promise<void> {
  const { rows } = await pool.query<{ seq: string }>(
    `UPDATE ${t.events} SET body = NULL, body_sha256 = '\\x00' WHERE id = $1 RETURNING seq`,
    [id],
  );
  const seqs = rows.map(({ seq }) => seq);
  await pool.query(`UPDATE ${t.shelf} SET pruned = true WHERE seq = ANY($1)`, [seqs]);
  await pool.query(`UPDATE ${t.attempts} SET prunable = false WHERE seq = ANY($1)`, [seqs]);
}

/** Each has an entity of its own. */
export async function plantProcessed(pool: Pool, t: Tables, count: number, receivedAt: number): Promise<void> {
  await pool.query(
    `INSERT INTO ${t.events} (endpoint, id, type, created_ms, created_ns, entity, slot, verified, received_ms, body)
     SELECT 'default', 'processed_' || n, 'order.created', n, 0, 'order::processed_' || n, n % ${SLOTS}, true, $2::bigint, '{}'
     FROM generate_series(1, $1::integer) AS n`,
    [count, receivedAt],
  );
  await pool.query(
    `INSERT INTO ${t.attempts} (seq, number, trigger, outcome, fence, endpoint, started_ms, ended_ms, prunable)
     SELECT seq, 1, 'auto', 'processed', 1, endpoint, received_ms, received_ms, true
     FROM ${t.events} WHERE id LIKE 'processed%'`,
  );
  await pool.query(
    `INSERT INTO ${t.entities} (entity, endpoint, created_ms, created_ns)
     SELECT entity, endpoint, created_ms, 0 FROM ${t.events} WHERE id LIKE 'processed%'`,
  );
}

/**
 * Postgres refuses a write until the test, or the returned function, ends this.
 *
 * @param write - such as `UPDATE ON table`
 * @param when - a condition for each row
 */
export async function refuse(pool: Pool, t: Tables, write: string, when?: string): Promise<() => Promise<void>> {
  const refuse = t.events.replace(/events$/, 'refuse');
  await pool.query(`
    CREATE FUNCTION ${refuse}() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no'; END$$;
    CREATE TRIGGER refused BEFORE ${write} ${when === undefined ? '' : `FOR EACH ROW WHEN (${when})`}
    EXECUTE FUNCTION ${refuse}()`);
  const mend = async () => void (await pool.query(`DROP FUNCTION IF EXISTS ${refuse} CASCADE`));
  onTestFinished(mend);
  return mend;
}
