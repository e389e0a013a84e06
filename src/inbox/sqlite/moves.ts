import { TOLERATED_MS } from '../rules/claim.ts';
import type { SqliteDatabase } from './opening/database.ts';
import type { LeasedRow } from './sql/rows.ts';
import { keyIs, lazyStatement } from './sql/statement.ts';

/** The value of `parked` for an event that no processor has examined yet. */
export const FRESH = 2;

/** SQLite writes the body again with any change of the row. */
export const BYTES = 'ifnull(length(body), 0) AS bytes';

/** The lease is not lost, however late its holder is. */
export const HELD = 'seq = :seq AND fence = :fence AND lease_until_ms IS NOT NULL';

export function firstFence(number: number): number {
  return 2 ** 32 + number;
}

const NO_LEASE = 'claimed_ms = NULL, lease_until_ms = NULL';

/** The lower 32 bits of a fence are the number of its claim. */
export const CLAIMED_UNDER = "lease_until_ms IS NOT NULL AND state = 'processing' AND fence & 4294967295 = :number";

/** All statements that write the row of an event; only these write `hookbox_events`. */
export function prepareMoves(database: SqliteDatabase) {
  const prepare = <Row = unknown>(sql: string) => lazyStatement<Row>(database, sql);
  return {
    isKnown: prepare<object>('SELECT 1 FROM hookbox_events WHERE id_hash = ? AND id = ? AND endpoint = ?'),
    /** Values by position: binding them by name takes a third as long as the rest. */
    insert: prepare(`
      INSERT INTO hookbox_events
        (endpoint, id, id_hash, type, created_ms, created_ns, entity, verified, state, dead_reason, parked, received_ms,
         due_ms, settled_ms, body, trace, fence, attempts, claimed_ms, lease_until_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    `),
    replace: prepare(`
      UPDATE hookbox_events
      SET type = :type, created_ms = :created_ms, created_ns = :created_ns, entity = :entity, verified = :verified,
          state = :state, dead_reason = :deadReason, settled_ms = :settledAt, body = :body, body_sha256 = NULL,
          fingerprint = NULL, parked = :parked, failures = 0, crashes = 0, yields = 0, trace = coalesce(:trace, trace)
      WHERE seq = :seq
    `),
    markVerified: prepare('UPDATE hookbox_events SET verified = 1 WHERE seq = ?'),
    indexNew: prepare(`
      UPDATE hookbox_events SET parked = 0, due_ms = CASE WHEN due_ms > :now + ${TOLERATED_MS} THEN :now ELSE due_ms END
      WHERE seq IN (
        SELECT seq FROM hookbox_events WHERE parked > 0 AND parked = ${FRESH} AND seq <= :upTo ORDER BY seq LIMIT +:limit
      )
    `),
    park: prepare('UPDATE hookbox_events SET parked = 1 WHERE seq = :seq'),
    unpark: prepare('UPDATE hookbox_events SET parked = 0 WHERE seq = :seq AND parked = 1'),
    claim: prepare<LeasedRow>(`
      UPDATE hookbox_events
      SET state = 'processing', dead_reason = NULL, fingerprint = NULL, settled_ms = NULL, parked = 0,
          fence = (((fence >> 32) + 1) << 32) | :number, attempts = attempts + 1, claimed_ms = :now, lease_until_ms = :until,
          effect = 0, closing = 0
      WHERE seq = :seq AND state != 'processing'
      RETURNING seq, fence, endpoint, id, body, verified, received_ms, attempts, failures, trace
    `),
    renew: prepare(`UPDATE hookbox_events SET lease_until_ms = :until, closing = :closing WHERE ${HELD}`),
    toProcessed: prepare(`
      UPDATE hookbox_events
      SET state = 'processed', settled_ms = :now, ${NO_LEASE}, trigger = 'auto', yields = 0
      WHERE seq = :seq
    `),
    superseded: prepare(`
      UPDATE hookbox_events
      SET state = 'processed', settled_ms = :now, trigger = 'auto', parked = 0, yields = 0, attempts = attempts + 1
      WHERE seq IN (SELECT value FROM json_each(:seqs))
    `),
    /** If the handler itself commits, this is committed too. */
    beginEffect: prepare(`
      UPDATE hookbox_events SET effect = 1 WHERE ${HELD} AND state = 'processing' AND effect = 0
    `),
    processedUnderLease: prepare(`
      UPDATE hookbox_events SET state = 'processed', settled_ms = :now, trigger = 'auto', yields = 0
      WHERE seq = :seq
    `),
    endLease: prepare(`UPDATE hookbox_events SET ${NO_LEASE} WHERE seq = :seq AND state = 'processed'`),
    toRetry: prepare(`
      UPDATE hookbox_events
      SET state = 'pending', due_ms = :due, failures = failures + :failed, crashes = crashes + :crashed,
          ${NO_LEASE}, trigger = 'auto', yields = coalesce(:yields, yields)
      WHERE seq = :seq
    `),
    toDead: prepare(`
      UPDATE hookbox_events
      SET state = 'dead', dead_reason = :reason, fingerprint = :fingerprint, settled_ms = :now, failures = failures + :failed,
          crashes = crashes + :crashed, ${NO_LEASE}, trigger = 'auto', yields = 0
      WHERE seq = :seq
    `),
    toIgnored: prepare(`
      UPDATE hookbox_events SET state = 'ignored', settled_ms = :now, parked = 0, yields = 0
      WHERE seq = :seq AND state = 'pending'
    `),
    moveLease: prepare('UPDATE hookbox_events SET lease_until_ms = :until WHERE seq = :seq'),
    moveDue: prepare('UPDATE hookbox_events SET due_ms = :due WHERE seq = :seq'),
    toPending: prepare(`
      UPDATE hookbox_events
      SET state = 'pending', dead_reason = NULL, fingerprint = NULL, settled_ms = NULL, due_ms = :now, failures = 0,
          crashes = 0, yields = 0, trigger = 'manual', type = :type, created_ms = :created_ms, created_ns = :created_ns, entity = :entity
      WHERE ${keyIs()} AND state IN ('dead', 'ignored', 'discarded') AND body IS NOT NULL
    `),
    prune: prepare('UPDATE hookbox_events SET body = NULL, body_sha256 = :hash WHERE seq = :seq'),
    processedToPending: prepare(`
      UPDATE hookbox_events
      SET state = 'pending', settled_ms = NULL, due_ms = :now, failures = 0, crashes = 0, yields = 0, trigger = 'manual'
      WHERE seq = :seq AND state = 'processed' AND body IS NOT NULL AND erased_ms IS NULL
    `),
    discard: prepare(`
      UPDATE hookbox_events
      SET state = 'discarded', dead_reason = NULL, settled_ms = :now, parked = 0, crashes = 0, yields = 0,
          trigger = 'auto', fingerprint = NULL, type = coalesce(:type, type),
          created_ms = coalesce(:created_ms, created_ms), created_ns = coalesce(:created_ns, created_ns)
      WHERE seq = :seq AND state IN ('dead', 'pending')
    `),
    retryNow: prepare(
      "UPDATE hookbox_events SET due_ms = :now WHERE seq = :seq AND state = 'pending' AND due_ms > :now",
    ),
    erase: prepare(`
      UPDATE hookbox_events
      SET state = :state, settled_ms = coalesce(settled_ms, :now),
          parked = 0, yields = 0, trigger = 'auto', body = NULL, body_sha256 = coalesce(:hash, body_sha256),
          entity = NULL, fingerprint = NULL, trace = NULL, erased_ms = :now
      WHERE seq = :seq
    `),
    importEvent: prepare(`
      INSERT INTO hookbox_events
        (endpoint, id, id_hash, type, created_ms, created_ns, entity, verified, state, dead_reason, received_ms, settled_ms,
         due_ms, attempts, failures, crashes, trigger, fingerprint, erased_ms, body, body_sha256, trace, yields)
      VALUES
        (:endpoint, :id, hookbox_id_hash(:id), :type, :created_ms, :created_ns, :entity, :verified, :state, :deadReason,
         :receivedMs, :settledMs, :dueMs, :begun, :failures, :crashes, :trigger, :fingerprint, :erasedMs, :body, :sha256,
         :trace, :yields)
    `),
  };
}
