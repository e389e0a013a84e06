import { InboxOpenError } from '../../../errors.ts';
import { deadReasons, eventStates, prunableStates, putAwayStates } from '../../event.ts';
import { createSharedTables, sharedTables, type SharedTables } from '../../shared-tables.ts';
import type { SqliteDatabase } from './database.ts';

const list = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** the oldest version of hookbox's schema support that can use the file */
  readonly needs: number;
  readonly sql: string;
}

export const tables = Object.fromEntries(sharedTables.map((name) => [name, `hookbox_${name}`])) as SharedTables; // one for each name

const WORDS: Parameters<typeof createSharedTables>[0] = {
  t: tables,
  int: 'INTEGER',
  small: 'INTEGER',
  text: 'TEXT',
  bytes: 'BLOB',
  numbered: 'INTEGER PRIMARY KEY',
  flag: (column) => `INTEGER NOT NULL DEFAULT 0 CHECK (${column} IN (0, 1))`,
  json: (column, check = `json_valid(${column})`) => `TEXT NOT NULL CHECK (${check})`,
  refersTo: (table, column = 'seq') => ` REFERENCES hookbox_${table} (${column})`,
  end: ' STRICT',
  keyed: ' STRICT, WITHOUT ROWID',
};

/** Most indexes of `hookbox_events` are partial; each comment names the readers. */
export const schema: Migration = {
  version: 1,
  name: 'hookbox 0.1',
  needs: 1,
  sql: `
    CREATE TABLE hookbox_events (
      seq            INTEGER PRIMARY KEY,
      endpoint       TEXT    NOT NULL,
      id             TEXT    NOT NULL,
      -- two ids may share it
      id_hash        INTEGER NOT NULL,
      type           TEXT,
      created_ms     INTEGER,
      created_ns     INTEGER,
      entity         TEXT,
      verified       INTEGER NOT NULL CHECK (verified IN (0, 1)),
      state          TEXT    NOT NULL CHECK (state IN (${list(eventStates)})),
      dead_reason    TEXT             CHECK (dead_reason IN (${list(deadReasons)})),
      received_ms    INTEGER NOT NULL,
      settled_ms     INTEGER,
      due_ms         INTEGER NOT NULL,
      -- 0: may be claimed when due; 1: waits for an older event; 2: new
      parked         INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0, 1, 2)),
      -- 1: it has failed and lets newer events pass (blocks: false)
      yields         INTEGER NOT NULL DEFAULT 0 CHECK (yields IN (0, 1)),
      attempts       INTEGER NOT NULL DEFAULT 0,
      failures       INTEGER NOT NULL DEFAULT 0,
      crashes        INTEGER NOT NULL DEFAULT 0,
      trigger        TEXT    NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual')),
      fence          INTEGER NOT NULL DEFAULT 0,
      claimed_ms     INTEGER,
      lease_until_ms INTEGER,
      effect         INTEGER NOT NULL DEFAULT 0 CHECK (effect IN (0, 1)),
      -- 1: its processor is closing; an expired lease then counts as an interruption
      closing        INTEGER NOT NULL DEFAULT 0 CHECK (closing IN (0, 1)),
      fingerprint    TEXT,
      erased_ms      INTEGER,
      -- traceparent, a space, tracestate
      trace          TEXT,
      body_sha256    BLOB,
      body           BLOB,
      CONSTRAINT dead_events_have_a_reason
        CHECK ((state = 'dead') = (dead_reason IS NOT NULL)),
      CONSTRAINT events_in_processing_have_a_lease
        CHECK (state != 'processing' OR lease_until_ms IS NOT NULL),
      -- A processed event keeps its lease until its handler ends.
      CONSTRAINT only_running_events_have_a_lease
        CHECK (lease_until_ms IS NULL OR state IN ('processing', 'processed')),
      CONSTRAINT leases_have_a_start
        CHECK ((lease_until_ms IS NULL) = (claimed_ms IS NULL)),
      CONSTRAINT only_pending_events_are_parked
        CHECK (parked = 0 OR state = 'pending'),
      CONSTRAINT settled_events_have_a_time
        CHECK ((state IN (${list(prunableStates)})) = (settled_ms IS NOT NULL)),
      CONSTRAINT valid_events_have_a_type_and_a_time
        CHECK ((type IS NOT NULL AND created_ms IS NOT NULL AND created_ns IS NOT NULL) OR dead_reason IS 'invalid'
          -- Only the id is known if other code has handled the event.
          OR (state = 'processed' AND body IS NULL AND length(body_sha256) = 0)),
      CONSTRAINT tombstones_keep_a_hash
        CHECK ((body IS NULL) = (body_sha256 IS NOT NULL)),
      CONSTRAINT only_settled_events_become_tombstones
        CHECK (body IS NOT NULL OR state IN (${list(prunableStates)}))
    ) STRICT;

    -- Deliveries, actions, searches by id. An index on the ids would be four times as large (docs/benchmarks.md).
    CREATE INDEX hookbox_events_by_id ON hookbox_events (id_hash);
    -- Secret, so that senders cannot make ids collide.
    CREATE TABLE hookbox_id_key (key TEXT NOT NULL) STRICT;
    INSERT INTO hookbox_id_key VALUES (lower(hex(randomblob(16))));

    -- Claims and due times of named types; announcements and operators.
    CREATE INDEX hookbox_events_due_of_type ON hookbox_events (endpoint, type, due_ms, seq)
      WHERE state = 'pending' AND parked = 0;
    -- Claims and due times of all types; a clock that was set back; operators. Ten thousand parked events behind a
    -- failing event cost nothing.
    CREATE INDEX hookbox_events_due_of_endpoint ON hookbox_events (endpoint, due_ms, seq)
      WHERE state = 'pending' AND parked = 0;
    -- New and parked events. A delivery writes only this index and that of the key.
    CREATE INDEX hookbox_events_aside ON hookbox_events (parked, seq)
      WHERE parked > 0;
    -- The front of an entity, also of some types; events before and behind an event.
    CREATE INDEX hookbox_events_waiting ON hookbox_events (entity, endpoint, yields, created_ms, created_ns, seq)
      WHERE state = 'pending' AND parked < 2 AND entity IS NOT NULL;
    CREATE INDEX hookbox_events_waiting_of_type
      ON hookbox_events (entity, endpoint, type, yields, created_ms, created_ns, seq)
      WHERE state = 'pending' AND parked < 2 AND entity IS NOT NULL;
    -- Parked events that yield: some are claimed when another event has ended.
    CREATE INDEX hookbox_events_yielding ON hookbox_events (entity, endpoint, parked)
      WHERE yields = 1 AND state = 'pending';
    -- Claims, expired leases, operators' list of running events.
    CREATE INDEX hookbox_events_leased ON hookbox_events (entity, endpoint, lease_until_ms, crashes, state)
      WHERE lease_until_ms IS NOT NULL;

    -- Pruning. Processed events are in no other index but that of the key.
    CREATE INDEX hookbox_events_prunable ON hookbox_events (endpoint, settled_ms)
      WHERE state = 'processed' AND body IS NOT NULL;

    -- Pruning of other states, dead events by time; lists and counts by state; groups of dead events, and when these died; retries; unhandled types.
    CREATE INDEX hookbox_events_put_away_at ON hookbox_events (state, settled_ms)
      WHERE state IN (${list(putAwayStates)}) AND body IS NOT NULL;
    CREATE INDEX hookbox_events_put_away ON hookbox_events (state)
      WHERE state IN (${list(putAwayStates)});
    CREATE INDEX hookbox_events_dead ON hookbox_events (ifnull(fingerprint, dead_reason))
      WHERE state = 'dead' AND body IS NOT NULL;
    CREATE INDEX hookbox_events_dead_at ON hookbox_events (ifnull(fingerprint, dead_reason), settled_ms)
      WHERE state = 'dead' AND body IS NOT NULL;
    CREATE INDEX hookbox_events_retrying ON hookbox_events (seq, failures)
      WHERE state = 'pending' AND failures > 0;
    CREATE INDEX hookbox_events_unhandled ON hookbox_events (endpoint, type, settled_ms)
      WHERE state = 'ignored' AND body IS NOT NULL;

    CREATE TABLE hookbox_attempts (
      seq           INTEGER NOT NULL REFERENCES hookbox_events (seq),
      number        INTEGER NOT NULL CHECK (number > 0),
      trigger       TEXT    NOT NULL CHECK (trigger IN ('auto', 'manual')),
      outcome       TEXT    NOT NULL CHECK (outcome IN ('processed', 'failed', 'crashed', 'interrupted', 'superseded')),
      started_ms    INTEGER NOT NULL,
      ended_ms      INTEGER NOT NULL,
      error_name    TEXT,
      error_message TEXT,
      error_stack   TEXT,
      skipped       TEXT,
      -- JSON
      log           TEXT,
      attempt_limit INTEGER,
      processor     TEXT,
      -- the claim that found the crash; the next claim reports it if the answer was lost
      found_by      INTEGER,
      PRIMARY KEY (seq, number),
      CONSTRAINT failed_attempts_have_an_error CHECK (outcome != 'failed' OR error_name IS NOT NULL)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX hookbox_attempts_found ON hookbox_attempts (found_by) WHERE found_by IS NOT NULL;
    -- Operators.
    CREATE INDEX hookbox_attempts_superseded ON hookbox_attempts (seq) WHERE outcome = 'superseded';

    -- The latest time of a lease or due time shows a clock that was set back (rules/claim.ts). While events are moved
    -- by back_ms, the other columns keep the progress.
    CREATE TABLE hookbox_clock (
      id        INTEGER PRIMARY KEY CHECK (id = 1),
      latest_ms INTEGER NOT NULL,
      back_ms   INTEGER CHECK (back_ms > 0),
      endpoint  TEXT,
      due_ms    INTEGER NOT NULL DEFAULT 0,
      seq       INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO hookbox_clock (id, latest_ms) VALUES (1, 0);

    -- New counts, and their sums (operator/counts.ts).
    CREATE TABLE hookbox_counts (
      minute_ms INTEGER NOT NULL,
      what      TEXT    NOT NULL,
      detail    TEXT    NOT NULL,
      count     INTEGER NOT NULL,
      PRIMARY KEY (minute_ms, what, detail)
    ) STRICT, WITHOUT ROWID;
${createSharedTables(WORDS)}
    CREATE UNIQUE INDEX hookbox_rejected_alike
      ON hookbox_rejected (endpoint, reason, ifnull(sha256, ''), ifnull(source, ''), ifnull(bytes, -1));
    CREATE INDEX hookbox_rejected_latest ON hookbox_rejected (last_ms);

    CREATE INDEX hookbox_marks_in_time ON hookbox_marks (at_ms);
    CREATE INDEX hookbox_marks_of_kind ON hookbox_marks (kind, at_ms);
    CREATE INDEX hookbox_marks_of_name ON hookbox_marks (kind, name, at_ms);

    CREATE INDEX hookbox_bulk_events_open ON hookbox_bulk_events (bulk, seq) WHERE result IS NULL;
    CREATE INDEX hookbox_bulk_events_skipped ON hookbox_bulk_events (bulk, seq) WHERE result <> 'done';
  `,
};

const migrations: readonly Migration[] = [schema];

/** Other tables are the application's. */
export const TABLES: readonly string[] = [
  'hookbox_migrations',
  ...migrations.flatMap(({ sql }) => Array.from(sql.matchAll(/CREATE TABLE (\w+)/g), ([, name = '']) => name)),
];

export const KNOWN_VERSION = newestOf(migrations);

/**
 * One transaction, so the first of several processes does the work.
 *
 * @throws InboxOpenError `NEEDS_NEWER_HOOKBOX`
 */
export function migrate(database: SqliteDatabase, steps: readonly Migration[] = migrations): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    database.exec(`
      CREATE TABLE IF NOT EXISTS hookbox_migrations (
        version    INTEGER PRIMARY KEY,
        name       TEXT    NOT NULL,
        needs      INTEGER NOT NULL,
        applied_ms INTEGER NOT NULL
      ) STRICT
    `);
    const present = versionOf(database);
    const known = newestOf(steps);
    if (present.needs > known) {
      throw new InboxOpenError(
        'NEEDS_NEWER_HOOKBOX',
        `A newer hookbox wrote ${database.name}: the file needs schema version ${present.needs}, but this ` +
          `hookbox supports only versions up to ${known}. Update hookbox in this process; the file is unchanged.`,
      );
    }
    for (const { version, name, needs, sql } of steps) {
      if (version <= present.version) continue;
      database.exec(sql);
      database
        .prepare('INSERT INTO hookbox_migrations (version, name, needs, applied_ms) VALUES (?, ?, ?, ?)')
        .run(version, name, needs, Date.now());
    }
    // `assertDurable` needs a write before it.
    database.exec('UPDATE hookbox_migrations SET name = name WHERE version = 1');
    database.exec('COMMIT');
  } catch (failure) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw failure;
  }
}

export function versionOf(database: Pick<SqliteDatabase, 'prepare'>): { version: number; needs: number } {
  const row = database
    .prepare('SELECT coalesce(max(version), 0) AS version, coalesce(max(needs), 0) AS needs FROM hookbox_migrations')
    .safeIntegers(false)
    .get();
  return row as { version: number; needs: number }; // the columns of the statement above
}

function newestOf(steps: readonly Migration[]): number {
  return Math.max(...steps.map(({ version }) => version));
}
