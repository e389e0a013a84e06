import type { Pool } from 'pg';
import { quoted, tablesIn } from '../../../../src/inbox/postgres/sql/tables.ts';

/** Notes each lease in the transactions that give and end it. */
export async function logLeases(pool: Pool, schema: string): Promise<void> {
  const { queue } = tablesIn(schema);
  const log = logOf(schema);
  const noteLease = `${quoted(schema)}.note_lease`;
  await pool.query(`
    CREATE TABLE ${log} (entity text NOT NULL, seq bigint NOT NULL, fence bigint NOT NULL, taken timestamptz NOT NULL,
      ended timestamptz, PRIMARY KEY (seq, fence));
    CREATE FUNCTION ${noteLease}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.lease_until_ms IS NOT NULL AND
        (TG_OP = 'DELETE' OR NEW.lease_until_ms IS NULL OR NEW.fence <> OLD.fence) THEN
        UPDATE ${log} SET ended = clock_timestamp() WHERE seq = OLD.seq AND fence = OLD.fence;
      END IF;
      IF TG_OP = 'UPDATE' AND NEW.lease_until_ms IS NOT NULL AND
        (OLD.lease_until_ms IS NULL OR NEW.fence <> OLD.fence) THEN
        INSERT INTO ${log} VALUES (NEW.entity, NEW.seq, NEW.fence, clock_timestamp(), NULL);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER note_lease AFTER UPDATE OR DELETE ON ${queue} FOR EACH ROW EXECUTE FUNCTION ${noteLease}()`);
}

export interface LeaseFindings {
  readonly leases: number;
  /** pairs of leases of one entity at the same time */
  readonly double: number;
}

export async function leaseFindings(pool: Pool, schema: string): Promise<LeaseFindings> {
  const { rows } = await pool.query<LeaseFindings>(`
    SELECT count(*)::integer AS leases, (count(*) FILTER (WHERE taken < other))::integer AS double FROM (
      SELECT taken, max(coalesce(ended, 'infinity')) OVER (PARTITION BY entity ORDER BY taken, seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS other
      FROM ${logOf(schema)}
    ) AS leases`);
  const [found] = rows;
  if (found === undefined) throw new Error('an aggregate has a row');
  return found;
}

function logOf(schema: string): string {
  return `${quoted(schema)}.lease_log`;
}
