import { type EventKey, putAwayStates } from '../../event.ts';
import { MANY_FRESH } from '../../rules/accept.ts';
import type { FoundCrash } from '../../rules/attempt.ts';
import { foldTypes, hasOwnType, NamedTypes, minuteOf, Tally } from '../../rules/counted.ts';
import { YIELDING_BATCH } from '../../rules/entity-order.ts';
import type { PauseRow } from '../../rules/pauses.ts';
import { RATE_COLUMNS, type RateRow } from '../../rules/rates.ts';
import type { ParkedEvent, WaitingEvent, HandledType } from '../../rules/processors.ts';
import type { SizedEvent } from '../../rules/store.ts';
import { prepareMoves, BYTES, CLAIMED_UNDER, HELD } from '../moves.ts';
import type { SqliteDatabase } from '../opening/database.ts';
import type {
  AheadRow,
  AttemptRow,
  BurstRow,
  CandidateRow,
  ClockRow,
  ConflictRow,
  DueRow,
  EventRow,
  ExpiredRow,
  FrontRow,
  KnownRow,
  ProcessorRow,
  RowToRerun,
  RowToRun,
  RunningRow,
  StepRow,
  TimesRow,
} from './rows.ts';
import { statement, keyIs, lazyStatement } from './statement.ts';

export type NamedStatements = ReturnType<typeof prepareNamedStatements>;

export function prepareNamedStatements(database: SqliteDatabase) {
  return {
    database,
    counts: new MinuteCounts(database),
    moves: prepareMoves(database),
    queue: prepareQueueStatements(database),
  };
}

export const ADD_COUNT = `
  INSERT INTO hookbox_counts (minute_ms, what, detail, count) VALUES ($1, $2, $3, $4)
  ON CONFLICT (minute_ms, what, detail) DO UPDATE SET count = count + excluded.count`;

/** One row per minute and kind, however many events share the commit. */
class MinuteCounts extends Tally {
  readonly #database: SqliteDatabase;
  readonly #named = new NamedTypes();

  constructor(database: SqliteDatabase) {
    super();
    this.#database = database;
  }

  write(): void {
    let sums = this.take();
    if (sums.length === 0) return;
    if (hasOwnType(sums)) sums = foldTypes(sums, this.#namedTypes());
    const minute = minuteOf(Date.now());
    const add = statement(this.#database, ADD_COUNT);
    for (const { what, detail, count } of sums) add.run({ 1: minute, 2: what, 3: detail, 4: count });
  }

  #namedTypes(): ReadonlySet<string> {
    if (this.#named.isFresh) return this.#named.names;
    const handled = statement<{ type: string }>(this.#database, 'SELECT DISTINCT type FROM hookbox_handling').all();
    return this.#named.learn(handled.map(({ type }) => type));
  }
}

// SQLite uses a partial index only if its condition is repeated word by word.

export const READY = "state = 'pending' AND parked = 0";
export const PRUNABLE = "state = 'processed' AND body IS NOT NULL";
export const PUT_AWAY = `state IN (${putAwayStates.map((state) => `'${state}'`).join(', ')})`;
export const PRINT = 'ifnull(fingerprint, dead_reason)';
export const DEAD = "hookbox_events INDEXED BY hookbox_events_dead WHERE state = 'dead' AND body IS NOT NULL";
export const DEAD_AT = "hookbox_events INDEXED BY hookbox_events_dead_at WHERE state = 'dead' AND body IS NOT NULL";
/** True for every row. */
export const DEAD_WITH_BODIES = `${DEAD} AND ${PRINT} > ''`;
/** A processed event is in processing until its handler ends. */
export const STATE_TO_ACT_ON = "iif(lease_until_ms IS NULL, state, 'processing') AS state";

/** `endpoints (value)` of a WITH RECURSIVE; the last value is NULL. */
export const READY_ENDPOINTS = distinctEndpoints(READY);
const PRUNABLE_ENDPOINTS = distinctEndpoints(PRUNABLE);

export const HANDLED_TYPES = `
  SELECT DISTINCT type FROM hookbox_handling WHERE endpoint IN (:endpoint, '*') AND seen_ms > :since`;

/** Events with `yields = 0` hold others back. */
export const WAITING = `hookbox_events INDEXED BY hookbox_events_waiting
        WHERE state = 'pending' AND parked < 2 AND entity = +:entity AND endpoint = +:endpoint`;
const HOLDING = `${WAITING} AND yields = 0`;
const YIELDING = `hookbox_events INDEXED BY hookbox_events_yielding
        WHERE yields = 1 AND state = 'pending' AND entity = +:entity AND endpoint = +:endpoint`;

const FRESH_ONES = 'hookbox_events WHERE parked > 0 AND parked = 2';
const PARKED = 'hookbox_events WHERE parked > 0 AND parked = 1';
const ENTITY_LEASED = 'hookbox_events WHERE lease_until_ms IS NOT NULL AND entity = :entity AND endpoint = :endpoint';

const CANDIDATE = `seq, endpoint, type, entity, created_ms, created_ns, due_ms, crashes, trigger, ${BYTES}`;
const RUNNING =
  'seq, fence, endpoint, type, entity, created_ms, created_ns, attempts, trigger, claimed_ms, yields, state, effect, closing';

/** One statement, because an idle processor runs it every second. */
function nextDue(endpoints: 'named' | 'every', types: 'named' | 'every'): string {
  const first = (where: string): string =>
    `SELECT due_ms FROM hookbox_events WHERE ${READY} AND endpoint = endpoints.value ${where} ORDER BY due_ms LIMIT 1`;
  const ofTypes = `
      CROSS JOIN json_each(:types) AS types
      WHERE NOT EXISTS (
        SELECT 1 FROM hookbox_pauses AS p WHERE p.endpoint = endpoints.value AND p.type = types.value
      )`;
  return `
    ${endpoints === 'every' ? `WITH RECURSIVE ${READY_ENDPOINTS}` : ''}
    SELECT min(at) AS at FROM (
      SELECT (${first(types === 'every' ? '' : 'AND type = types.value')}) AS at
      FROM ${endpoints === 'every' ? 'endpoints' : 'json_each(:endpoints) AS endpoints'} ${types === 'every' ? '' : ofTypes}
      UNION ALL
      SELECT min(lease_until_ms) FROM hookbox_events WHERE lease_until_ms IS NOT NULL
      UNION ALL
      SELECT due_ms FROM (SELECT due_ms FROM ${FRESH_ONES} ORDER BY seq LIMIT 1)
      UNION ALL
      SELECT min(max(p.until_ms, (
        SELECT due_ms FROM hookbox_events
        WHERE ${READY} AND endpoint = p.endpoint AND type = p.type ORDER BY due_ms LIMIT 1
      ))) FROM hookbox_pauses AS p WHERE p.endpoint >= ''
    )`;
}

/** The waiting events of one type and entity; those that yield are behind the others in the index. */
function burst(where: string, order: 'ASC' | 'DESC', limit: string): string {
  const some = (yields: 0 | 1): string => `
    SELECT * FROM (
      SELECT ${CANDIDATE}, id, attempts, received_ms FROM hookbox_events INDEXED BY hookbox_events_waiting_of_type
      WHERE state = 'pending' AND parked < 2 AND entity = +:entity AND endpoint = +:endpoint AND type = +:type
        AND yields = ${yields} ${where}
      ORDER BY created_ms ${order}, created_ns ${order}, seq ${order} LIMIT ${limit}
    )`;
  return `
    SELECT * FROM (${some(0)} UNION ALL ${some(1)})
    ORDER BY created_ms ${order}, created_ns ${order}, seq ${order} LIMIT ${limit}`;
}

/**
 * `+:name` keeps SQLite from planning with a value: it would prepare the statement for each run, which costs several
 * looks. It
 * does so in a LIMIT, and if it can choose between indexes.
 */
function prepareQueueStatements(database: SqliteDatabase) {
  const prepare = <Row = unknown>(sql: string) => lazyStatement<Row>(database, sql);
  return {
    readyEndpoints: prepare<{ value: string }>(
      `WITH RECURSIVE ${READY_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL`,
    ),
    nextReadyType: prepare<{ type: string | null }>(`
      SELECT min(type) AS type FROM hookbox_events
      WHERE ${READY} AND endpoint = +:endpoint AND type >= :from
    `),
    fresh: prepare<SizedEvent>(`SELECT seq, ${BYTES} FROM ${FRESH_ONES} AND seq <= :upTo ORDER BY seq LIMIT +:limit`),
    dueOfType: prepare<CandidateRow>(`
      SELECT ${CANDIDATE}
      FROM hookbox_events
      WHERE ${READY} AND endpoint = +:endpoint AND type = +:type AND due_ms <= :now
        AND (crashes = 0 OR :suspects)
      ORDER BY due_ms, seq LIMIT +:limit
    `),
    dueOfEndpoint: prepare<CandidateRow>(`
      SELECT ${CANDIDATE}
      FROM hookbox_events
      WHERE ${READY} AND endpoint = +:endpoint AND due_ms <= :now AND (crashes = 0 OR :suspects)
      ORDER BY due_ms, seq LIMIT +:limit
    `),
    ahead: prepare<AheadRow>(`
      SELECT latest_ms, back_ms,
        (SELECT count(*) FROM (SELECT 1 FROM ${FRESH_ONES} LIMIT ${MANY_FRESH})) = ${MANY_FRESH} AS crowded,
        EXISTS (SELECT 1 FROM hookbox_pauses WHERE endpoint = :endpoint AND type = :type) AS paused,
        :entity IS NOT NULL AND (
          EXISTS (SELECT 1 FROM ${ENTITY_LEASED}) OR EXISTS (SELECT 1 FROM ${HOLDING})
          OR EXISTS (SELECT 1 FROM ${YIELDING}) OR EXISTS (
            SELECT 1 FROM (SELECT entity, endpoint FROM ${FRESH_ONES} LIMIT ${MANY_FRESH})
            WHERE entity = :entity AND endpoint = :endpoint
          )
        ) AS busy,
        EXISTS (
          SELECT 1 FROM hookbox_entities
          WHERE entity = :entity AND endpoint = :endpoint AND (created_ms, created_ns) > (:created_ms, :created_ns)
        ) AS superseded
      FROM hookbox_clock WHERE id = 1
    `),
    runningSuspect: prepare<object>(
      'SELECT 1 FROM hookbox_events WHERE lease_until_ms IS NOT NULL AND crashes > 0 LIMIT 1',
    ),
    leaseOfEntity: prepare<object>(`SELECT 1 FROM ${ENTITY_LEASED} LIMIT 1`),
    handledTypes: prepare<{ type: string }>(HANDLED_TYPES),
    pauses: prepare<PauseRow>("SELECT * FROM hookbox_pauses WHERE endpoint >= ''"),
    rates: prepare<RateRow>(`
      SELECT ${RATE_COLUMNS} FROM hookbox_rates WHERE endpoint IN (SELECT value FROM json_each(:endpoints))
    `),
    lastSeen: prepare<{ at: number | null }>(`
      SELECT max(seen_ms) AS at FROM hookbox_handling WHERE endpoint IN (:endpoint, '*') AND type IN (:type, '*')
    `),
    frontOfEntity: prepare<FrontRow>(`
      SELECT created_ms, created_ns, seq, type FROM ${HOLDING}
      ORDER BY created_ms, created_ns, seq LIMIT 1
    `),
    /** The front, and the first parked events that yield. */
    nextOfEntity: prepare<FrontRow>(`
      SELECT * FROM (
        SELECT created_ms, created_ns, seq, type, 0 AS yields, ${BYTES} FROM ${HOLDING}
        ORDER BY created_ms, created_ns, seq LIMIT 1
      ) UNION ALL SELECT * FROM (
        SELECT NULL, NULL, seq, NULL, 1, ${BYTES} FROM ${YIELDING} AND parked = 1 LIMIT ${YIELDING_BATCH}
      )
    `),
    /** One step through the index for each type. */
    frontOfTypes: prepare<FrontRow>(`
      SELECT created_ms, created_ns, seq, type, ${BYTES} FROM hookbox_events WHERE seq IN (
        SELECT (
          SELECT seq FROM hookbox_events INDEXED BY hookbox_events_waiting_of_type
          WHERE state = 'pending' AND parked < 2 AND yields = 0 AND entity = +:entity AND endpoint = +:endpoint
            AND type = json_each.value
          ORDER BY created_ms, created_ns, seq LIMIT 1
        ) FROM json_each(:types)
      ) ORDER BY created_ms, created_ns, seq LIMIT 1
    `),
    newestOfType: prepare<BurstRow>(burst('', 'DESC', '1')),
    othersOfType: prepare<BurstRow>(burst("AND trigger = 'auto' AND seq != :newest", 'DESC', '+:limit')),
    oldestOfType: prepare<BurstRow>(burst("AND trigger = 'auto' AND seq != :newest", 'ASC', '1')),
    /** Waits before the newest of a burst, and does not belong to the events that it supersedes. */
    beforeNewest: prepare<object>(`
      SELECT 1 FROM ${HOLDING} AND (type != :type OR trigger = 'manual') AND seq != :newest
        AND (created_ms, created_ns, seq) < (:created_ms, :created_ns, :newest)
        AND (:types = '"*"' OR type IN (SELECT value FROM json_each(:types))) LIMIT 1
    `),
    addSuperseded: prepare(`
      INSERT INTO hookbox_attempts (seq, number, trigger, outcome, started_ms, ended_ms, skipped)
      SELECT seq, attempts, 'auto', 'superseded', :now, :now, :by FROM hookbox_events
      WHERE seq IN (SELECT value FROM json_each(:seqs))
    `),
    highWater: prepare<object>(`
      SELECT 1 FROM hookbox_entities
      WHERE entity = :entity AND endpoint = :endpoint AND (created_ms, created_ns) > (:created_ms, :created_ns)
    `),
    someUpTo: prepare<FrontRow>(
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
    parkedAfter: prepare<ParkedEvent & { type: string }>(`
      SELECT seq, endpoint, entity, type, ${BYTES} FROM ${PARKED} AND seq > :after ORDER BY seq LIMIT +:limit
    `),

    eventToRun: prepare<RowToRun>(`
      SELECT ${CANDIDATE}, state, dead_reason, body IS NULL AS pruned
      FROM hookbox_events WHERE ${keyIs()}
    `),
    held: prepare<RunningRow>(`SELECT ${RUNNING} FROM hookbox_events WHERE ${HELD}`),
    claimedUnder: prepare<RunningRow>(`SELECT ${RUNNING} FROM hookbox_events WHERE ${CLAIMED_UNDER}`),
    outcomeUnder: prepare<Pick<AttemptRow, 'outcome' | 'error_message'>>(`
      SELECT outcome, error_message FROM hookbox_attempts
      WHERE seq = :seq AND number = (SELECT attempts FROM hookbox_events WHERE seq = :seq AND fence = :fence)
        AND found_by IS NULL
    `),
    foundBy: prepare<FoundCrash & EventKey>(`
      SELECT endpoint, id, type, number AS attempt, outcome, ended_ms, error_name, error_message, error_stack, due_ms,
        iif(attempts = number, state, NULL) AS state, dead_reason
      FROM hookbox_attempts AS a INDEXED BY hookbox_attempts_found CROSS JOIN hookbox_events AS e ON e.seq = a.seq
      WHERE found_by = :number ORDER BY ended_ms, a.seq
    `),
    ranOut: prepare<ExpiredRow>(`
      SELECT ${RUNNING}, id, crashes, ${BYTES} FROM hookbox_events WHERE lease_until_ms <= :by LIMIT +:limit
    `),
    ranOutBefore: prepare<ExpiredRow>(`
      SELECT ${RUNNING}, id, crashes, ${BYTES} FROM hookbox_events
      WHERE lease_until_ms <= :by AND endpoint = :endpoint
        AND (id = :id OR entity = (SELECT entity FROM hookbox_events WHERE ${keyIs()}))
      LIMIT +:limit
    `),

    totalChanges: prepare<[]>('SELECT total_changes() AS count'),
    hasEffect: prepare<object>(`SELECT 1 FROM hookbox_events WHERE ${HELD} AND effect = 1`),
    waitingOfType: prepare<Omit<WaitingEvent, 'type'>>(`
      SELECT seq, endpoint, entity, ${BYTES} FROM hookbox_events
      WHERE ${READY} AND endpoint = +:endpoint AND type = +:type AND due_ms <= :before
      ORDER BY due_ms LIMIT +:limit
    `),
    anybodySeen: prepare<object>('SELECT 1 FROM hookbox_handling WHERE seen_ms > :since LIMIT 1'),
    everHandled: prepare<object>("SELECT 1 FROM hookbox_handling WHERE endpoint IN (:endpoint, '*') LIMIT 1"),
    noteHandled: prepare(`
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
        (seq, number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack, skipped, log,
         attempt_limit, processor, found_by)
      VALUES (:seq, :number, :trigger, :outcome, :started, :ended, :name, :message, :stack, :skipped, :log, :limit,
        :processor, :foundBy)
    `),
    noteLateError: prepare(`
      UPDATE hookbox_attempts SET error_name = :name, error_message = :message, error_stack = :stack, log = coalesce(:log, log)
      WHERE seq = :seq
        AND number = (SELECT attempts FROM hookbox_events WHERE seq = :seq AND fence = :fence AND body IS NOT NULL)
    `),
    attemptsOf: prepare<AttemptRow>(`
      SELECT number, trigger, outcome, started_ms, ended_ms, error_name, error_message, error_stack, skipped, log,
        attempt_limit, processor
      FROM hookbox_attempts
      WHERE seq = (SELECT seq FROM hookbox_events WHERE ${keyIs()})
      ORDER BY number
    `),

    nextDue: prepare<{ at: number | null }>(nextDue('named', 'named')),
    nextDueOfEveryType: prepare<{ at: number | null }>(nextDue('named', 'every')),
    nextDueAnywhere: prepare<{ at: number | null }>(nextDue('every', 'named')),
    nextDueOfAll: prepare<{ at: number | null }>(nextDue('every', 'every')),

    clock: prepare<ClockRow>('SELECT latest_ms, back_ms, endpoint, due_ms, seq FROM hookbox_clock WHERE id = 1'),
    noteTime: prepare('UPDATE hookbox_clock SET latest_ms = :latest WHERE id = 1 AND latest_ms < :latest'),
    leases: prepare<{ seq: number; lease_until_ms: number }>(
      'SELECT seq, lease_until_ms FROM hookbox_events WHERE lease_until_ms IS NOT NULL',
    ),
    moveHandling: prepare('UPDATE hookbox_handling SET seen_ms = seen_ms - :back WHERE seen_ms > :now'),
    moveProcessors: prepare('UPDATE hookbox_processors SET seen_ms = seen_ms - :back WHERE seen_ms > :now'),
    movePauses: prepare(
      "UPDATE hookbox_pauses SET until_ms = max(:now, until_ms - :back) WHERE endpoint >= '' AND until_ms > :now",
    ),
    endPauses: prepare("DELETE FROM hookbox_pauses WHERE endpoint >= '' AND until_ms <= :now AND failures IS NULL"),
    beginProbe: prepare('UPDATE hookbox_pauses SET until_ms = :until WHERE endpoint = :endpoint AND type = :type'),
    failuresInARow: prepare<{ failures: number }>(
      'SELECT failures FROM hookbox_breakers WHERE endpoint = :endpoint AND type = :type',
    ),
    startMoving: prepare(`
      UPDATE hookbox_clock SET latest_ms = :latest, back_ms = :back, endpoint = NULL, due_ms = 0, seq = 0 WHERE id = 1
    `),
    goOnMoving: prepare('UPDATE hookbox_clock SET endpoint = :endpoint, due_ms = :due, seq = :seq WHERE id = 1'),
    endMoving: prepare('UPDATE hookbox_clock SET back_ms = NULL, endpoint = NULL WHERE id = 1'),
    asideAfter: prepare<DueRow>(`
      SELECT seq, due_ms, ${BYTES} FROM ${PARKED} AND seq > :seq ORDER BY seq LIMIT +:limit
    `),
    dueAfter: prepare<DueRow>(`
      SELECT seq, due_ms, ${BYTES} FROM hookbox_events
      WHERE ${READY} AND endpoint = +:endpoint AND (due_ms, seq) > (:due, :seq)
      ORDER BY due_ms, seq LIMIT +:limit
    `),

    eventToRerun: prepare<RowToRerun>(`
      SELECT entity, state, body IS NULL AS pruned, :readFrom IS NULL OR body IS :readFrom AS as_read
      FROM hookbox_events WHERE ${keyIs()}
    `),
    prunableEndpoints: prepare<{ value: string }>(
      `WITH RECURSIVE ${PRUNABLE_ENDPOINTS} SELECT value FROM endpoints WHERE value IS NOT NULL`,
    ),
    prunableOfEndpoint: prepare<SizedEvent>(`
      SELECT seq, ${BYTES} FROM hookbox_events
      WHERE ${PRUNABLE} AND endpoint = +:endpoint AND settled_ms < :before
      ORDER BY settled_ms LIMIT +:limit
    `),
    bodyOf: prepare<{ body: Uint8Array | null }>('SELECT body FROM hookbox_events WHERE seq = :seq'),
    pruneAttempts: prepare(`
      UPDATE hookbox_attempts SET error_message = NULL, error_stack = NULL, skipped = NULL, log = NULL WHERE seq = :seq
    `),
    addStep: prepare(`
      INSERT INTO hookbox_steps (seq, name, attempt, at_ms, result) VALUES (:seq, :name, :attempt, :now, :result)
      ON CONFLICT DO NOTHING
    `),
    stepsOf: prepare<StepRow>(`
      SELECT name, attempt, at_ms, result FROM hookbox_steps
      WHERE seq = (SELECT seq FROM hookbox_events WHERE ${keyIs()})
      ORDER BY at_ms, name
    `),
    pruneSteps: prepare('DELETE FROM hookbox_steps WHERE seq IN (SELECT value FROM json_each(?))'),
    pruneConflict: prepare('DELETE FROM hookbox_conflicts WHERE seq = :seq'),
    event: prepare<EventRow>(`SELECT * FROM hookbox_events WHERE ${keyIs()}`),
    eventsAfter: prepare<EventRow>('SELECT * FROM hookbox_events WHERE seq > ? ORDER BY seq LIMIT +?'),
    known: prepare<KnownRow>(`
      SELECT seq, entity, state, dead_reason IS 'invalid' AS invalid, verified, body, body_sha256,
        erased_ms IS NOT NULL AS erased
      FROM hookbox_events WHERE ${keyIs('+:id', '+:endpoint')}
    `),
    redeliveries: prepare<TimesRow>('SELECT count, first_ms, last_ms, recent FROM hookbox_redeliveries WHERE seq = ?'),
    conflict: prepare<ConflictRow>(
      'SELECT count, first_ms, last_ms, recent, body FROM hookbox_conflicts WHERE seq = ?',
    ),
    saveRedeliveries: prepare(`
      INSERT INTO hookbox_redeliveries (seq, count, first_ms, last_ms, recent) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent
    `),
    saveConflict: prepare(`
      INSERT INTO hookbox_conflicts (seq, count, first_ms, last_ms, recent, body) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (seq) DO UPDATE
      SET count = excluded.count, last_ms = excluded.last_ms, recent = excluded.recent, body = excluded.body
    `),

    processorsAfter: prepare<ProcessorRow>(
      'SELECT * FROM hookbox_processors WHERE seen_ms > ? ORDER BY started_ms, name',
    ),
    noteProcessor: prepare(`
      INSERT INTO hookbox_processors (name, endpoints, types, started_ms, seen_ms)
      VALUES (:name, :endpoints, :types, :startedAt, :seenAt)
      ON CONFLICT (name) DO UPDATE SET started_ms = excluded.started_ms, seen_ms = excluded.seen_ms
    `),
    forgetProcessors: prepare('DELETE FROM hookbox_processors WHERE seen_ms <= ?'),
    forgetProcessor: prepare('DELETE FROM hookbox_processors WHERE name = ?'),
    everHandledTypes: prepare<HandledType>(
      "SELECT endpoint, type, seen_ms AS at FROM hookbox_handling WHERE endpoint >= '' ORDER BY 1, 2",
    ),
  };
}

/** One step through an index for each endpoint. */
function distinctEndpoints(where: string): string {
  const least = (more: string): string => `SELECT min(endpoint) FROM hookbox_events WHERE ${where}${more}`;
  return `endpoints (value) AS (
    ${least('')}
    UNION ALL
    SELECT (${least(' AND endpoint > endpoints.value')}) FROM endpoints WHERE endpoints.value IS NOT NULL
  )`;
}

/**
 * Two steps through an index for each type, as `lanes (endpoint, type)` of a WITH RECURSIVE. With one comparison of
 * both columns,
 * SQLite would walk through all of an endpoint's events.
 */
export function distinctTypes(where: string, most: number): string {
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
