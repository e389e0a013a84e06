import { MANY_FRESH } from '../../rules/accept.ts';
import { putAwayStates } from '../../event.ts';
import { YIELDING_BATCH } from '../../rules/entity-order.ts';
import { BYTES, CLAIMED_UNDER, HELD } from '../moves.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import { lazyStatement, keyIs } from './statement.ts';

/** What may be claimed when it is due. */
export const READY = "state = 'pending' AND parked = 0";

/** What is neither processed nor on its way; as two indexes say it. */
export const PUT_AWAY = `state IN (${putAwayStates.map((state) => `'${state}'`).join(', ')})`;

/** The endpoints of what is ready, as `endpoints (value)` of a WITH RECURSIVE; the last one is NULL. */
export const READY_ENDPOINTS = distinctValues('endpoints', 'value', 'endpoint', READY);
/** What has been processed and has a body: its endpoints, as `endpoints (value)` too. */
export const PRUNABLE = "state = 'processed' AND body IS NOT NULL";
export const PRUNABLE_ENDPOINTS = distinctValues('endpoints', 'value', 'endpoint', PRUNABLE);

/** The types of an endpoint that somebody handles who was seen since then: a dozen at most, as handlers name them. */
export const HANDLED_TYPES = `
  SELECT DISTINCT type FROM hookbox_handling WHERE endpoint IN (:endpoint, '*') AND seen_ms > :since`;

/** A type at an endpoint is paused. */
const PAUSED = 'SELECT 1 FROM hookbox_pauses AS p WHERE p.endpoint = endpoints.value AND p.type = types.value';
/** When each endpoint and type was last seen to be handled. */
export const EVER_HANDLED =
  "SELECT endpoint, type, seen_ms AS at FROM hookbox_handling WHERE endpoint >= '' ORDER BY 1, 2";

/** What has failed and lets newer events of its entity pass, which is seldom: by an index of its own. */
const YIELDING = `yields = 1 AND state = 'pending' AND entity = +:entity AND endpoint = +:endpoint`;
/** What waits of an entity, by an index of its own, too: with `yields = 0` what holds others back. */
export const WAITING = `hookbox_events INDEXED BY hookbox_events_waiting
        WHERE state = 'pending' AND parked < 2 AND entity = +:entity AND endpoint = +:endpoint`;
const HOLDING = `${WAITING} AND yields = 0`;

/** Events that no processor has looked at, in the order of arrival. */
const FRESH_ONES = 'parked > 0 AND parked = 2';

/** Of an event under a lease. */
const RUNNING = `seq, fence, endpoint, type, entity, created_ms, created_ns, attempts, trigger, claimed_ms, yields, state, effect, closing`;

/** When the next event of a scope is due; one statement, because an idle processor asks every second. */
function nextDue(endpoints: 'named' | 'every', types: 'named' | 'every'): string {
  const first = (where: string): string => `
    SELECT due_ms FROM hookbox_events WHERE state = 'pending' AND parked = 0 AND endpoint = endpoints.value ${where}
    ORDER BY due_ms LIMIT 1`;
  return `
    ${endpoints === 'every' ? `WITH RECURSIVE ${READY_ENDPOINTS}` : ''}
    SELECT min(at) AS at FROM (
      SELECT (${first(types === 'every' ? '' : 'AND type = types.value')}) AS at
      FROM ${endpoints === 'every' ? 'endpoints' : 'json_each(:endpoints) AS endpoints'}
      ${types === 'every' ? '' : 'CROSS JOIN json_each(:types) AS types'}
      ${types === 'every' ? '' : `WHERE NOT EXISTS (${PAUSED})`}
      UNION ALL
      SELECT min(lease_until_ms) FROM hookbox_events WHERE lease_until_ms IS NOT NULL
      UNION ALL
      SELECT due_ms FROM (SELECT due_ms FROM hookbox_events WHERE parked > 0 AND parked = 2 ORDER BY seq LIMIT 1)
    )`;
}

/**
 * What processors look for, and what they write beside the events themselves (moves.ts).
 *
 * `+:name` is the value of a parameter that SQLite does not plan with. Where it does, it prepares the statement anew each time
 * it is run, which costs several times the look itself: in a LIMIT, and in `column = :name` where it has indexes to choose
 * from (test/inbox/sqlite-prepared-once.test.ts).
 */
export function prepareQueueStatements(database: SqliteDatabase) {
  const prepare = (sql: string) => lazyStatement(database, sql);
  return {
    readyEndpoints: prepare(`WITH RECURSIVE ${READY_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL`),
    /** The first type with something ready at an endpoint, from a text on. */
    nextReadyType: prepare(`
      SELECT min(type) AS type FROM hookbox_events
      WHERE state = 'pending' AND parked = 0 AND endpoint = +:endpoint AND type >= :from
    `),
    fresh: prepare(`
      SELECT seq, ${BYTES} FROM hookbox_events WHERE parked > 0 AND parked = 2 AND seq <= :upTo ORDER BY seq LIMIT +:limit
    `),
    dueOfType: prepare(`
      SELECT seq, endpoint, type, entity, created_ms, created_ns, due_ms, crashes, ${BYTES}
      FROM hookbox_events
      WHERE state = 'pending' AND parked = 0 AND endpoint = +:endpoint AND type = +:type AND due_ms <= :now
        AND (crashes = 0 OR :suspects)
      ORDER BY due_ms, seq LIMIT +:limit
    `),
    dueOfEndpoint: prepare(`
      SELECT seq, endpoint, type, entity, created_ms, created_ns, due_ms, crashes, ${BYTES}
      FROM hookbox_events
      WHERE state = 'pending' AND parked = 0 AND endpoint = +:endpoint AND due_ms <= :now AND (crashes = 0 OR :suspects)
      ORDER BY due_ms, seq LIMIT +:limit
    `),
    /** What may have to run before an event that comes in. */
    ahead: prepare(`
      SELECT latest_ms, back_ms,
        (SELECT count(*) FROM (SELECT 1 FROM hookbox_events WHERE ${FRESH_ONES} LIMIT ${MANY_FRESH})) = ${MANY_FRESH} AS crowded,
        EXISTS (SELECT 1 FROM hookbox_pauses WHERE endpoint = :endpoint AND type = :type) AS paused,
        :entity IS NOT NULL AND (
          EXISTS (
            SELECT 1 FROM hookbox_events WHERE lease_until_ms IS NOT NULL AND entity = :entity AND endpoint = :endpoint
          ) OR EXISTS (SELECT 1 FROM ${HOLDING}) OR EXISTS (
            SELECT 1 FROM hookbox_events INDEXED BY hookbox_events_yielding WHERE ${YIELDING}
          ) OR EXISTS (
            SELECT 1 FROM (SELECT entity, endpoint FROM hookbox_events WHERE ${FRESH_ONES} LIMIT ${MANY_FRESH})
            WHERE entity = :entity AND endpoint = :endpoint
          )
        ) AS busy,
        EXISTS (
          SELECT 1 FROM hookbox_entities
          WHERE entity = :entity AND endpoint = :endpoint AND (created_ms, created_ns) > (:createdMs, :createdNs)
        ) AS superseded
      FROM hookbox_clock WHERE id = 1
    `),
    runningSuspect: prepare('SELECT 1 FROM hookbox_events WHERE lease_until_ms IS NOT NULL AND crashes > 0 LIMIT 1'),
    leaseOfEntity: prepare(`
      SELECT 1 FROM hookbox_events WHERE lease_until_ms IS NOT NULL AND entity = :entity AND endpoint = :endpoint LIMIT 1
    `),
    handledTypes: prepare(HANDLED_TYPES),
    pauses: prepare("SELECT * FROM hookbox_pauses WHERE endpoint >= ''"),
    lastSeen: prepare(`
      SELECT max(seen_ms) AS at FROM hookbox_handling WHERE endpoint IN (:endpoint, '*') AND type IN (:type, '*')
    `),
    /** The oldest event of an entity that waits and holds others back. */
    frontOfEntity: prepare(`
      SELECT created_ms, created_ns, seq, type FROM ${HOLDING}
      ORDER BY created_ms, created_ns, seq LIMIT 1
    `),
    /** The same, and the first parked ones that yield. */
    nextOfEntity: prepare(`
      SELECT * FROM (
        SELECT created_ms, created_ns, seq, type, 0 AS yields, ${BYTES} FROM ${HOLDING}
        ORDER BY created_ms, created_ns, seq LIMIT 1
      ) UNION ALL SELECT * FROM (
        SELECT NULL, NULL, seq, NULL, 1, ${BYTES} FROM hookbox_events INDEXED BY hookbox_events_yielding
        WHERE ${YIELDING} AND parked = 1 LIMIT ${YIELDING_BATCH}
      )
    `),
    /** The same of some types: the first of each by one step through the index, however many wait of others. */
    frontOfTypes: prepare(`
      SELECT created_ms, created_ns, seq, type, ${BYTES} FROM hookbox_events WHERE seq IN (
        SELECT (
          SELECT seq FROM hookbox_events INDEXED BY hookbox_events_holding_of_type
          WHERE state = 'pending' AND parked < 2 AND yields = 0 AND entity = +:entity AND endpoint = +:endpoint
            AND type = json_each.value
          ORDER BY created_ms, created_ns, seq LIMIT 1
        ) FROM json_each(:types)
      ) ORDER BY created_ms, created_ns, seq LIMIT 1
    `),
    highWater: prepare(`
      SELECT 1 FROM hookbox_entities
      WHERE entity = :entity AND endpoint = :endpoint AND (created_ms, created_ns) > (:created_ms, :created_ns)
    `),
    /** Those that hold others back, and those that yield. */
    someUpTo: prepare(
      [0, 1]
        .map(
          (yields) => `
      SELECT * FROM (
        SELECT created_ms, created_ns, seq, parked, ${BYTES} FROM ${WAITING} AND yields = ${yields}
          AND (created_ms, created_ns, seq) <= (:created_ms, :created_ns, :seq)
        ORDER BY created_ms, created_ns, seq LIMIT +:limit
      )`,
        )
        .join(' UNION ALL '),
    ),
    parkedAfter: prepare(`
      SELECT seq, endpoint, entity, type, ${BYTES} FROM hookbox_events
      WHERE parked > 0 AND parked = 1 AND seq > :after ORDER BY seq LIMIT +:limit
    `),

    eventToRun: prepare(`
      SELECT seq, endpoint, type, entity, created_ms, created_ns, due_ms, crashes, state, dead_reason, body IS NULL AS pruned,
        ${BYTES}
      FROM hookbox_events WHERE ${keyIs()}
    `),
    held: prepare(`
      SELECT ${RUNNING} FROM hookbox_events WHERE ${HELD}
    `),
    claimedUnder: prepare(`
      SELECT ${RUNNING} FROM hookbox_events WHERE ${CLAIMED_UNDER}
    `),
    outcomeUnder: prepare(`
      SELECT outcome, error_message FROM hookbox_attempts
      WHERE seq = :seq AND number = (SELECT attempts FROM hookbox_events WHERE seq = :seq AND fence = :fence)
        AND found_by IS NULL
    `),
    foundBy: prepare(`
      SELECT endpoint, id, type, number AS attempt, outcome, ended_ms, error_name, error_message, error_stack, due_ms,
        iif(attempts = number, state, NULL) AS state, dead_reason
      FROM hookbox_attempts AS a INDEXED BY hookbox_attempts_found CROSS JOIN hookbox_events AS e ON e.seq = a.seq
      WHERE found_by = :number ORDER BY ended_ms, a.seq
    `),
    ranOut: prepare(`
      SELECT ${RUNNING}, id, crashes, ${BYTES} FROM hookbox_events WHERE lease_until_ms <= :by LIMIT +:limit
    `),
    ranOutBefore: prepare(`
      SELECT ${RUNNING}, id, crashes, ${BYTES} FROM hookbox_events
      WHERE lease_until_ms <= :by AND endpoint = :endpoint
        AND (id = :id OR entity = (SELECT entity FROM hookbox_events WHERE ${keyIs()}))
      LIMIT +:limit
    `),

    hasEffect: prepare(`SELECT 1 FROM hookbox_events WHERE ${HELD} AND effect = 1`),
    waitingOfType: prepare(`
      SELECT seq, endpoint, entity, ${BYTES} FROM hookbox_events
      WHERE state = 'pending' AND parked = 0 AND endpoint = +:endpoint AND type = +:type AND due_ms <= :before
      ORDER BY due_ms LIMIT +:limit
    `),
    anybodySeen: prepare('SELECT 1 FROM hookbox_handling WHERE seen_ms > :since LIMIT 1'),
    everHandled: prepare("SELECT 1 FROM hookbox_handling WHERE endpoint IN (:endpoint, '*') LIMIT 1"),
    take: prepare(`
      INSERT INTO hookbox_handling (endpoint, type, seen_ms) VALUES (:endpoint, :type, :now)
      ON CONFLICT (endpoint, type) DO UPDATE SET seen_ms = max(seen_ms, excluded.seen_ms)
    `),

    raiseHighWater: prepare(`
      INSERT INTO hookbox_entities (entity, endpoint, created_ms, created_ns)
      VALUES (:entity, :endpoint, :created_ms, :created_ns)
      ON CONFLICT (entity, endpoint) DO UPDATE SET created_ms = excluded.created_ms, created_ns = excluded.created_ns
      WHERE (excluded.created_ms, excluded.created_ns) > (created_ms, created_ns)
    `),
    addAttempt: prepare(`
      INSERT INTO hookbox_attempts
        (seq, number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack, skipped,
         found_by)
      VALUES (:seq, :number, :trigger, :outcome, :started, :ended, :name, :message, :stack, :skipped, :foundBy)
    `),
    noteLateError: prepare(`
      UPDATE hookbox_attempts SET error_name = :name, error_message = :message, error_stack = :stack
      WHERE seq = :seq
        AND number = (SELECT attempts FROM hookbox_events WHERE seq = :seq AND fence = :fence AND body IS NOT NULL)
    `),
    attemptsOf: prepare(`
      SELECT number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack, skipped
      FROM hookbox_attempts
      WHERE seq = (SELECT seq FROM hookbox_events WHERE ${keyIs()})
      ORDER BY number
    `),

    nextDue: prepare(nextDue('named', 'named')),
    nextDueOfEveryType: prepare(nextDue('named', 'every')),
    nextDueAnywhere: prepare(nextDue('every', 'named')),
    nextDueOfAll: prepare(nextDue('every', 'every')),

    clock: prepare('SELECT latest_ms, back_ms, endpoint, due_ms, seq FROM hookbox_clock WHERE id = 1'),
    noteTime: prepare('UPDATE hookbox_clock SET latest_ms = :latest WHERE id = 1 AND latest_ms < :latest'),
    leases: prepare('SELECT seq, lease_until_ms FROM hookbox_events WHERE lease_until_ms IS NOT NULL'),
    moveHandling: prepare('UPDATE hookbox_handling SET seen_ms = seen_ms - :back WHERE seen_ms > :now'),
    moveProcessors: prepare('UPDATE hookbox_processors SET seen_ms = seen_ms - :back WHERE seen_ms > :now'),
    startMoving: prepare(`
      UPDATE hookbox_clock SET latest_ms = :latest, back_ms = :back, endpoint = NULL, due_ms = 0, seq = 0 WHERE id = 1
    `),
    goOnMoving: prepare('UPDATE hookbox_clock SET endpoint = :endpoint, due_ms = :due, seq = :seq WHERE id = 1'),
    endMoving: prepare('UPDATE hookbox_clock SET back_ms = NULL, endpoint = NULL WHERE id = 1'),
    asideAfter: prepare(`
      SELECT seq, due_ms, ${BYTES} FROM hookbox_events WHERE parked > 0 AND parked = 1 AND seq > :seq ORDER BY seq LIMIT +:limit
    `),
    dueAfter: prepare(`
      SELECT seq, due_ms, ${BYTES} FROM hookbox_events
      WHERE state = 'pending' AND parked = 0 AND endpoint = +:endpoint AND (due_ms, seq) > (:due, :seq)
      ORDER BY due_ms, seq LIMIT +:limit
    `),

    eventToRerun: prepare(`
      SELECT entity, state, body IS NULL AS pruned, :readFrom IS NULL OR body IS :readFrom AS as_read
      FROM hookbox_events WHERE ${keyIs()}
    `),
    prunableEndpoints: prepare(
      `WITH RECURSIVE ${PRUNABLE_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL`,
    ),
    prunableOfEndpoint: prepare(`
      SELECT seq, ${BYTES} FROM hookbox_events
      WHERE ${PRUNABLE} AND endpoint = +:endpoint AND settled_ms < :before
      ORDER BY settled_ms LIMIT +:limit
    `),
    bodyOf: prepare('SELECT body FROM hookbox_events WHERE seq = :seq'),
    pruneAttempts: prepare(`
      UPDATE hookbox_attempts SET error_message = NULL, error_stack = NULL, skipped = NULL WHERE seq = :seq
    `),
    pruneConflict: prepare('DELETE FROM hookbox_conflicts WHERE seq = :seq'),
  };
}

/** What is looked for and written beside an event whose key is known already. */
export function prepareKnownEventStatements(database: SqliteDatabase) {
  const prepare = (sql: string) => lazyStatement(database, sql);
  return {
    event: prepare(`
      SELECT e.seq, entity, state, dead_reason IS 'invalid' AS invalid, verified, e.body, body_sha256,
        erased_ms IS NOT NULL AS erased,
        again.count AS again_count, again.first_ms AS again_first, again.last_ms AS again_last, again.recent AS again_recent,
        other.count AS other_count, other.first_ms AS other_first, other.last_ms AS other_last, other.recent AS other_recent
      FROM hookbox_events AS e
        LEFT JOIN hookbox_redeliveries AS again ON again.seq = e.seq
        LEFT JOIN hookbox_conflicts AS other ON other.seq = e.seq
      WHERE ${keyIs('+:id', '+:endpoint')}
    `),
    redeliveries: prepare('SELECT count, first_ms, last_ms, recent FROM hookbox_redeliveries WHERE seq = ?'),
    saveRedeliveries: prepare(`
      INSERT INTO hookbox_redeliveries (seq, count, first_ms, last_ms, recent) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent
    `),
    conflicts: prepare('SELECT count, first_ms, last_ms, recent, body FROM hookbox_conflicts WHERE seq = ?'),
    saveConflict: prepare(`
      INSERT INTO hookbox_conflicts (seq, count, first_ms, last_ms, recent, body)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE
      SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent, body = excluded.body
    `),
  };
}

/**
 * The values of a column, each once, as `name (as)` of a WITH RECURSIVE; the last one is NULL. Where a partial index of this
 * condition begins with the column, that is one step through it for each value, however many events have it.
 */
function distinctValues(name: string, as: string, column: string, where: string): string {
  const least = (more: string): string => `SELECT min(${column}) FROM hookbox_events WHERE ${where}${more}`;
  return `${name} (${as}) AS (
    ${least('')}
    UNION ALL
    SELECT (${least(` AND ${column} > ${name}.${as}`)})
    FROM ${name} WHERE ${name}.${as} IS NOT NULL
  )`;
}

/**
 * The endpoints and types with something in a partial index of (endpoint, type, …), as `lanes (endpoint, type)` of a WITH
 * RECURSIVE, by two steps through it for each: the next type of the endpoint, else the next endpoint. As one comparison of
 * both columns SQLite would walk through all of an endpoint's.
 */
export function distinctLanes(where: string, most: number): string {
  const first = (more: string, order: string): string =>
    `SELECT seq FROM hookbox_events WHERE ${where} AND ${more} ORDER BY ${order} LIMIT 1`;
  return `lanes (endpoint, type) AS (
    SELECT * FROM (SELECT endpoint, type FROM hookbox_events WHERE ${where} ORDER BY endpoint, type LIMIT 1)
    UNION ALL
    SELECT next.endpoint, next.type FROM lanes CROSS JOIN hookbox_events AS next
    WHERE next.seq = coalesce(
      (${first('endpoint = lanes.endpoint AND type > lanes.type', 'type')}),
      (${first('endpoint > lanes.endpoint', 'endpoint, type')})
    )
    LIMIT ${most}
  )`;
}

/** What a dead event is grouped by, as its index has it. */
export const PRINT = 'ifnull(fingerprint, dead_reason)';
export const DEAD = "hookbox_events INDEXED BY hookbox_events_dead WHERE state = 'dead' AND body IS NOT NULL";
/** Dead events that somebody can still do something about: no tombstones. Every group has a name, so the condition leaves nothing out. */
export const DEAD_WITH_BODIES = `${DEAD} AND ${PRINT} > ''`;
