import { TOLERATED_MS } from '../set-back.ts';
import type { SqliteDatabase } from './database.ts';
import type { Tally } from './tally.ts';

export type WorkStatements = ReturnType<typeof prepareWorkStatements>;

/** The value of `parked` for an event that no processor has looked at yet. */
export const FRESH = 2;
/** How many of them are made known to the indexes for work at once. */
export const FRESH_BATCH = 2_000;

/** What must be true for the holder of a lease to change anything: nobody has taken the event over, however late it is. */
const HELD = "seq = :seq AND state = 'processing' AND fence = :fence";

/**
 * Types with something that may be claimed when due, as `types` of a WITH RECURSIVE: by one step through the index for
 * each. The last one is NULL.
 *
 * @param most - so many at most; senders can invent types
 */
export function readyTypes(most?: number): string {
  return `types (type) AS (
    SELECT min(type) FROM hookbox_events WHERE state = 'pending' AND parked = 0
    UNION ALL
    SELECT (SELECT min(type) FROM hookbox_events WHERE state = 'pending' AND parked = 0 AND type > types.type)
    FROM types WHERE types.type IS NOT NULL ${most === undefined ? '' : `LIMIT ${most}`}
  )`;
}

/** All of them, one a row. */
export const PENDING_TYPES = `WITH RECURSIVE ${readyTypes()} SELECT type FROM types WHERE type IS NOT NULL`;

/** The statements that move events from state to state, each named for its move. */
export function prepareWorkStatements(database: SqliteDatabase, tally: Tally) {
  const prepare = (sql: string) => database.prepare(sql).safeIntegers(false);
  return {
    tally,
    /** for what is prepared only when it is first needed */
    database,

    pendingTypes: prepare(PENDING_TYPES),
    /** From now on these are found by type and by entity. */
    lookAtFresh: prepare(`
      UPDATE hookbox_events SET parked = 0, due_ms = CASE WHEN due_ms > :now + ${TOLERATED_MS} THEN :now ELSE due_ms END
      WHERE seq IN (SELECT seq FROM hookbox_events WHERE parked > 0 AND parked = 2 ORDER BY seq LIMIT :limit)
    `),
    unparkSome: prepare(`
      UPDATE hookbox_events SET parked = 0
      WHERE seq IN (SELECT seq FROM hookbox_events WHERE parked > 0 AND parked = 1 ORDER BY seq LIMIT :limit)
    `),
    dueOfType: prepare(`
      SELECT seq, endpoint, entity, created_ms, created_ns, due_ms, crashes
      FROM hookbox_events
      WHERE state = 'pending' AND parked = 0 AND type = :type AND due_ms <= :now AND (crashes = 0 OR :suspects)
      ORDER BY due_ms, seq LIMIT :limit
    `),
    runningSuspect: prepare(`SELECT 1 FROM hookbox_events WHERE state = 'processing' AND crashes > 0 LIMIT 1`),
    leaseOfEntity: prepare(`
      SELECT 1 FROM hookbox_events WHERE state = 'processing' AND entity = :entity AND endpoint = :endpoint LIMIT 1
    `),
    /** An older event that waits, and whose type somebody handles: the one who claims (null: every type), or another. */
    olderOfEntity: prepare(`
      SELECT 1 FROM hookbox_events AS older
      WHERE state = 'pending' AND parked < 2 AND entity = :entity AND endpoint = :endpoint
        AND (created_ms, created_ns, seq) < (:created_ms, :created_ns, :seq)
        AND (
          :types IS NULL OR type IN (SELECT value FROM json_each(:types))
          OR EXISTS (SELECT 1 FROM hookbox_takers WHERE hookbox_takers.type IN (older.type, '*') AND seen_ms > :takenSince)
        )
      LIMIT 1
    `),
    highWater: prepare(`
      SELECT 1 FROM hookbox_entities
      WHERE entity = :entity AND endpoint = :endpoint AND (created_ms, created_ns) > (:created_ms, :created_ns)
    `),
    park: prepare('UPDATE hookbox_events SET parked = 1 WHERE seq = :seq'),
    firstTakenOfEntity: prepare(`
      SELECT created_ms, created_ns, seq FROM hookbox_events AS e
      WHERE state = 'pending' AND parked < 2 AND entity = :entity AND endpoint = :endpoint
        AND EXISTS (SELECT 1 FROM hookbox_takers WHERE hookbox_takers.type IN (e.type, '*') AND seen_ms > :takenSince)
      ORDER BY created_ms, created_ns, seq LIMIT 1
    `),
    unparkUpTo: prepare(`
      UPDATE hookbox_events SET parked = 0
      WHERE state = 'pending' AND parked < 2 AND parked = 1 AND entity = :entity AND endpoint = :endpoint
        AND (created_ms, created_ns, seq) <= (:created_ms, :created_ns, :seq)
    `),

    claim: prepare(`
      UPDATE hookbox_events
      SET state = 'processing', dead_reason = NULL, fingerprint = NULL, settled_ms = NULL, parked = 0,
          fence = fence + 1, attempts = attempts + 1, claimed_ms = :now, lease_until_ms = :until
      WHERE seq = :seq AND state != 'processing'
      RETURNING seq, fence, endpoint, id, body, verified, received_ms, attempts, failures
    `),
    eventToRun: prepare(`
      SELECT seq, endpoint, type, entity, created_ms, created_ns, due_ms, crashes, state, dead_reason, body IS NULL AS pruned,
        discarded_ms IS NOT NULL AS discarded
      FROM hookbox_events WHERE id = :id AND endpoint = :endpoint
    `),
    renew: prepare(`UPDATE hookbox_events SET lease_until_ms = :until WHERE ${HELD}`),
    held: prepare(`
      SELECT seq, endpoint, type, entity, created_ms, created_ns, attempts, trigger, claimed_ms
      FROM hookbox_events WHERE ${HELD}
    `),
    ranOut: prepare(`
      SELECT seq, endpoint, type, entity, created_ms, created_ns, attempts, trigger, claimed_ms, crashes, fence
      FROM hookbox_events WHERE state = 'processing' AND lease_until_ms <= :by
    `),

    toProcessed: prepare(`
      UPDATE hookbox_events
      SET state = 'processed', settled_ms = :now, claimed_ms = NULL, lease_until_ms = NULL, trigger = 'auto'
      WHERE seq = :seq
    `),
    toRetry: prepare(`
      UPDATE hookbox_events
      SET state = 'pending', due_ms = :due, failures = failures + :failed, crashes = crashes + :crashed,
          claimed_ms = NULL, lease_until_ms = NULL, trigger = 'auto'
      WHERE seq = :seq
    `),
    toDead: prepare(`
      UPDATE hookbox_events
      SET state = 'dead', dead_reason = :reason, fingerprint = :fingerprint, settled_ms = :now, failures = failures + :failed,
          crashes = crashes + :crashed, claimed_ms = NULL, lease_until_ms = NULL, trigger = 'auto'
      WHERE seq = :seq
    `),
    toPending: prepare(`
      UPDATE hookbox_events
      SET state = 'pending', dead_reason = NULL, fingerprint = NULL, settled_ms = NULL, due_ms = :now, failures = 0,
          crashes = 0, trigger = 'manual', discarded_ms = NULL, type = :type, created_ms = :created_ms, created_ns = :created_ns, entity = :entity
      WHERE id = :id AND endpoint = :endpoint AND state IN ('dead', 'ignored') AND body IS NOT NULL
        AND (:readFrom IS NULL OR body = :readFrom)
    `),
    isDead: prepare("SELECT 1 FROM hookbox_events WHERE seq = :seq AND fence = :fence AND state = 'dead'"),
    deadToProcessed: prepare(`
      UPDATE hookbox_events SET state = 'processed', dead_reason = NULL, fingerprint = NULL, failures = failures - 1
      WHERE seq = :seq AND fence = :fence AND state = 'dead'
      RETURNING seq, endpoint, type, entity, created_ms, created_ns, attempts
    `),
    attemptProcessed: prepare(`
      UPDATE hookbox_attempts SET outcome = 'processed', error_name = NULL, error_message = NULL, error_stack = NULL
      WHERE seq = :seq AND number = :number
    `),
    toIgnored: prepare(`
      UPDATE hookbox_events SET state = 'ignored', settled_ms = :now, parked = 0
      WHERE seq = :seq AND state = 'pending'
    `),
    untakenOfType: prepare(`
      SELECT seq, endpoint, entity FROM hookbox_events
      WHERE state = 'pending' AND parked = 0 AND type = :type AND due_ms <= :before
        AND NOT EXISTS (SELECT 1 FROM hookbox_takers WHERE hookbox_takers.type IN (:type, '*') AND seen_ms > :takenSince)
      ORDER BY due_ms LIMIT 5000
    `),
    take: prepare(`
      INSERT INTO hookbox_takers (type, seen_ms) VALUES (:type, :now)
      ON CONFLICT (type) DO UPDATE SET seen_ms = max(seen_ms, excluded.seen_ms)
    `),

    raiseHighWater: prepare(`
      INSERT INTO hookbox_entities (entity, endpoint, created_ms, created_ns)
      VALUES (:entity, :endpoint, :created_ms, :created_ns)
      ON CONFLICT (entity, endpoint) DO UPDATE SET created_ms = excluded.created_ms, created_ns = excluded.created_ns
      WHERE (excluded.created_ms, excluded.created_ns) > (created_ms, created_ns)
    `),
    addAttempt: prepare(`
      INSERT INTO hookbox_attempts
        (seq, number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack)
      VALUES (:seq, :number, :trigger, :outcome, :started, :ended, :name, :message, :stack)
    `),
    noteLateError: prepare(`
      UPDATE hookbox_attempts SET error_name = :name, error_message = :message, error_stack = :stack
      WHERE seq = :seq AND number = (SELECT attempts FROM hookbox_events WHERE seq = :seq AND fence = :fence)
    `),
    attemptsOf: prepare(`
      SELECT number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack
      FROM hookbox_attempts
      WHERE seq = (SELECT seq FROM hookbox_events WHERE id = :id AND endpoint = :endpoint)
      ORDER BY number
    `),

    /** One statement, because an idle processor asks every second. */
    nextDue: prepare(`
      SELECT min(at) AS at FROM (
        SELECT (
          SELECT due_ms FROM hookbox_events
          WHERE state = 'pending' AND parked = 0 AND type = types.value ORDER BY due_ms LIMIT 1
        ) AS at FROM json_each(:types) AS types
        UNION ALL
        SELECT min(lease_until_ms) FROM hookbox_events WHERE state = 'processing'
        UNION ALL
        SELECT due_ms FROM (SELECT due_ms FROM hookbox_events WHERE parked > 0 AND parked = 2 ORDER BY seq LIMIT 1)
      )
    `),
    nextDueOfAll: prepare(`
      WITH RECURSIVE ${readyTypes()}
      SELECT min(at) AS at FROM (
        SELECT (
          SELECT due_ms FROM hookbox_events
          WHERE state = 'pending' AND parked = 0 AND type = types.type ORDER BY due_ms LIMIT 1
        ) AS at FROM types
        UNION ALL
        SELECT min(lease_until_ms) FROM hookbox_events WHERE state = 'processing'
        UNION ALL
        SELECT due_ms FROM (SELECT due_ms FROM hookbox_events WHERE parked > 0 AND parked = 2 ORDER BY seq LIMIT 1)
      )
    `),

    clock: prepare('SELECT latest_ms, back_ms, type, due_ms, seq FROM hookbox_clock WHERE id = 1'),
    noteTime: prepare('UPDATE hookbox_clock SET latest_ms = :latest WHERE id = 1 AND latest_ms < :latest'),
    leases: prepare("SELECT seq, lease_until_ms FROM hookbox_events WHERE state = 'processing'"),
    moveLease: prepare('UPDATE hookbox_events SET lease_until_ms = :until WHERE seq = :seq'),
    startMoving: prepare(`
      UPDATE hookbox_clock SET latest_ms = :latest, back_ms = :back, type = NULL, due_ms = 0, seq = 0 WHERE id = 1
    `),
    goOnMoving: prepare('UPDATE hookbox_clock SET type = :type, due_ms = :due, seq = :seq WHERE id = 1'),
    endMoving: prepare('UPDATE hookbox_clock SET back_ms = NULL, type = NULL WHERE id = 1'),
    asideAfter: prepare(`
      SELECT seq, due_ms FROM hookbox_events WHERE parked > 0 AND parked = 1 AND seq > :seq ORDER BY seq LIMIT :limit
    `),
    dueAfter: prepare(`
      SELECT seq, due_ms FROM hookbox_events
      WHERE state = 'pending' AND parked = 0 AND type = :type AND (due_ms, seq) > (:due, :seq)
      ORDER BY due_ms, seq LIMIT :limit
    `),
    moveDue: prepare('UPDATE hookbox_events SET due_ms = :due WHERE seq = :seq'),

    prunable: prepare(`
      SELECT seq FROM hookbox_events
      WHERE state = 'processed' AND body IS NOT NULL AND settled_ms < :before ORDER BY settled_ms LIMIT :limit
    `),
    bodyOf: prepare('SELECT body FROM hookbox_events WHERE seq = :seq'),
    prune: prepare('UPDATE hookbox_events SET body = NULL, body_sha256 = :hash WHERE seq = :seq'),
    pruneAttempts: prepare('UPDATE hookbox_attempts SET error_message = NULL, error_stack = NULL WHERE seq = :seq'),
    pruneConflict: prepare('DELETE FROM hookbox_conflicts WHERE seq = :seq'),
  };
}
