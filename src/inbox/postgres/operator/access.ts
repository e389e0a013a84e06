import type { Dialect, Reader } from '../../operator/sql.ts';
import { type Session, fromJson } from '../driver/session.ts';
import { places, STATE, stateToActOn } from '../sql/records.ts';
import { toKey, rowOf, type Tables } from '../sql/tables.ts';
import type { Store } from '../store.ts';

export function postgres(t: Tables): Dialect {
  return {
    t,
    keyIs(id, endpoint, row) {
      const of = row === undefined ? '' : `${row}.`;
      return `${of}id = ${id} AND ${of}endpoint = ${endpoint}`;
    },
    anyOf: (column, parameter, type) => `${column} = ANY(${parameter}::${type}[])`,
    joinRow: (table, as, where) => `CROSS JOIN ${rowOf(table, as, where('found'))}`,
    list: (parameter, type) => `unnest(${parameter}::${type}[]) AS list (value)`,
    given(columns) {
      const lists = Object.values(columns).map((type, at) => `$${at + 1}::${type}[]`);
      return `unnest(${lists.join(', ')}) AS given (${Object.keys(columns).join(', ')})`;
    },
    aside: (limit) => `SELECT endpoint, type, 1 AS list FROM ${t.queue} WHERE parked ORDER BY seq + 0 LIMIT ${limit}`,
    ready: `${t.queue} AS ready WHERE ready.lease_until_ms IS NULL AND NOT ready.parked`,
    event: { joins: places(t), columns: eventColumns(t) },
    handled: {
      joins: `${places(t)} LEFT JOIN ${rowOf(t.imported, 'imported', 'found.seq = events.seq')} ON true`,
      columns: HANDLED,
    },
    jsonObject: 'json_build_object',
    jsonList: 'json_agg',
    fromJson,
    dead: {
      from: `${t.shelf} WHERE ${DEAD_WITH_BODIES}`,
      inTime: `${t.shelf} WHERE ${DEAD_WITH_BODIES}`,
      print: PRINT,
    },
    toKey,
    returningSeq: 'RETURNING seq',
    forUpdate: 'FOR UPDATE',
    now: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
    state: STATE,
    stateToActOn: stateToActOn(t),
    queued: 'queue',
    attempts: attemptsOf(t),
    settled: `coalesce(shelf.settled_ms,
      (SELECT ended_ms FROM ${t.attempts} AS attempts WHERE attempts.seq = events.seq AND prunable LIMIT 1),
      (SELECT settled_ms FROM ${t.imported} AS imported WHERE imported.seq = events.seq AND prunable LIMIT 1))`,
    indexed: `coalesce((SELECT first - 1 FROM ${t.unindexed} ORDER BY first LIMIT 1), ${Number.MAX_SAFE_INTEGER})`,
    knownBody: 'NULL AS body, coalesce(events.body_sha256, sha256(events.body)) AS hash',
    errorsGone: 'prunable = false, error_message = NULL, error_stack = NULL, skipped = NULL, log = NULL',
    ofImportedAttempt: (endpoint) => ({ endpoint, fence: 0, prunable: false }),
    clearBulks: (old, limit) => `
      DELETE FROM ${t.bulk_events} WHERE ctid = ANY(ARRAY(
        SELECT old.ctid FROM ${t.bulks} AS bulks CROSS JOIN LATERAL (
          SELECT ctid FROM ${t.bulk_events} AS events WHERE events.bulk = bulks.id LIMIT ${limit}
        ) AS old
        WHERE ${old} LIMIT ${limit}
      )) RETURNING seq`,
  };
}

const ofPlace = (column: string): string => `coalesce(queue.${column}, shelf.${column}, imported.${column})`;

const HANDLED = `
  ${ofPlace('due_ms')} AS due_ms,
  CASE WHEN queue.seq IS NULL THEN coalesce(shelf.settled_ms, imported.settled_ms) END AS settled_ms,
  ${ofPlace('attempts')} AS begun, ${ofPlace('failures')} AS failures, ${ofPlace('crashes')} AS crashes,
  ${ofPlace('trigger')} AS trigger, shelf.fingerprint, queue.yields`;

/** Only its attempts show how a processed event ended. */
function ofLastAttempt(t: Tables, column: string): string {
  return `(SELECT ${column} FROM ${t.attempts} WHERE seq = events.seq ORDER BY number DESC LIMIT 1)`;
}

function attemptsOf(t: Tables): string {
  return `coalesce(queue.attempts, shelf.attempts, ${ofLastAttempt(t, 'number')}, 0)`;
}

function eventColumns(t: Tables): string {
  const failures = `
    (SELECT count(*) FROM ${t.attempts} WHERE seq = events.seq AND outcome = 'failed' AND number >= coalesce(
      (SELECT max(number) FROM ${t.attempts} WHERE seq = events.seq AND trigger = 'manual'), 0))`;
  return `${STATE}, shelf.settled_ms AS put_away_ms,
    CASE WHEN queue.seq IS NULL THEN coalesce(shelf.settled_ms, ${ofLastAttempt(t, 'ended_ms')}) END AS settled_ms, queue.due_ms,
    ${attemptsOf(t)} AS attempts,
    coalesce(queue.failures, shelf.failures, ${failures}) AS failures, shelf.fingerprint,
    coalesce(queue.trigger, shelf.trigger, 'auto') AS trigger`;
}

export function rowsIn(session: Session): Reader['rows'] {
  return (statement) => session.rows(statement);
}

export interface Access {
  readonly store: Store;
  /** Failures are errors of the contract. */
  readonly ask: <T>(work: () => Promise<T>) => Promise<T>;
  readonly notify: () => void;
}

/** In the form of its index. */
const PRINT = 'coalesce(fingerprint, dead_reason)';
/** In the form of an index; every group has a name. */
export const DEAD_WITH_BODIES = `state = 'dead' AND NOT pruned AND ${PRINT} > ''`;
