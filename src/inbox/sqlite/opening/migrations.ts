import { InboxOpenError } from '../../../errors.ts';
import { deadReasons, eventStates } from '../../state.ts';
import type { SqliteDatabase } from './database.ts';

interface Migration {
  readonly version: number;
  readonly name: string;
  /**
   * The oldest schema version a process must know to work on a file with this one. It grows only with a major version,
   * so that old and new processes share a file while a deploy is under way.
   */
  readonly needs: number;
  readonly sql: string;
}

const list = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

/** Numbered and named; within a major version they only add. */
const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'events',
    needs: 1,
    sql: `
      CREATE TABLE hookbox_events (
        seq            INTEGER PRIMARY KEY,
        endpoint       TEXT    NOT NULL,
        id             TEXT    NOT NULL,
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
        -- 0: may be claimed when due; 1: waits for an older event of its entity; 2: no processor has looked at it yet
        parked         INTEGER NOT NULL DEFAULT 0 CHECK (parked IN (0, 1, 2)),
        attempts       INTEGER NOT NULL DEFAULT 0,
        failures       INTEGER NOT NULL DEFAULT 0,
        crashes        INTEGER NOT NULL DEFAULT 0,
        trigger        TEXT    NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual')),
        fence          INTEGER NOT NULL DEFAULT 0,
        claimed_ms     INTEGER,
        lease_until_ms INTEGER,
        body_sha256    BLOB,
        body           BLOB,
        CONSTRAINT dead_events_have_a_reason
          CHECK ((state = 'dead') = (dead_reason IS NOT NULL)),
        CONSTRAINT events_in_processing_have_a_lease
          CHECK ((state = 'processing') = (lease_until_ms IS NOT NULL) AND (state = 'processing') = (claimed_ms IS NOT NULL)),
        CONSTRAINT only_pending_events_are_parked
          CHECK (parked = 0 OR state = 'pending'),
        CONSTRAINT settled_events_know_since_when
          CHECK ((state IN ('processed', 'dead', 'ignored')) = (settled_ms IS NOT NULL)),
        CONSTRAINT valid_events_have_a_type_and_a_time
          CHECK ((type IS NOT NULL AND created_ms IS NOT NULL AND created_ns IS NOT NULL) OR dead_reason IS 'invalid'),
        CONSTRAINT tombstones_keep_a_hash
          CHECK ((body IS NULL) = (body_sha256 IS NOT NULL)),
        CONSTRAINT only_settled_events_become_tombstones
          CHECK (body IS NOT NULL OR state IN ('processed', 'dead', 'ignored'))
      ) STRICT;

      -- A rowid table with a unique index takes bodies faster than a WITHOUT ROWID table (docs/benchmarks.md).
      CREATE UNIQUE INDEX hookbox_events_by_key ON hookbox_events (id, endpoint);

      CREATE TABLE hookbox_redeliveries (
        seq      INTEGER PRIMARY KEY REFERENCES hookbox_events (seq),
        count    INTEGER NOT NULL CHECK (count > 0),
        first_ms INTEGER NOT NULL,
        last_ms  INTEGER NOT NULL,
        recent   TEXT    NOT NULL CHECK (json_array_length(recent) BETWEEN 1 AND 20)
      ) STRICT;

      CREATE TABLE hookbox_conflicts (
        seq      INTEGER PRIMARY KEY REFERENCES hookbox_events (seq),
        count    INTEGER NOT NULL CHECK (count > 0),
        first_ms INTEGER NOT NULL,
        last_ms  INTEGER NOT NULL,
        recent   TEXT    NOT NULL CHECK (json_array_length(recent) BETWEEN 1 AND 20),
        body     BLOB    NOT NULL
      ) STRICT;
    `,
  },
  {
    version: 2,
    name: 'handling',
    needs: 1,
    sql: `
      -- What a processor looks through for work. Parked events wait for an older one of their entity and are not in it,
      -- so that ten thousand of them behind one that fails cost nothing.
      CREATE INDEX hookbox_events_due ON hookbox_events (type, due_ms, seq)
        WHERE state = 'pending' AND parked = 0;
      CREATE INDEX hookbox_events_waiting ON hookbox_events (entity, endpoint, created_ms, created_ns, seq)
        WHERE state = 'pending' AND parked < 2 AND entity IS NOT NULL;
      -- New events join the two indexes above when a processor looks for work: a delivery must not wait for that.
      CREATE INDEX hookbox_events_aside ON hookbox_events (parked, seq)
        WHERE parked > 0;
      CREATE INDEX hookbox_events_leased ON hookbox_events (entity, endpoint, lease_until_ms, crashes)
        WHERE state = 'processing';
      CREATE INDEX hookbox_events_prunable ON hookbox_events (settled_ms)
        WHERE state = 'processed' AND body IS NOT NULL;

      -- The newest event of each entity that was processed; it outlives the events themselves.
      CREATE TABLE hookbox_entities (
        entity     TEXT    NOT NULL,
        endpoint   TEXT    NOT NULL,
        created_ms INTEGER NOT NULL,
        created_ns INTEGER NOT NULL,
        PRIMARY KEY (entity, endpoint)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE hookbox_attempts (
        seq           INTEGER NOT NULL REFERENCES hookbox_events (seq),
        number        INTEGER NOT NULL CHECK (number > 0),
        trigger       TEXT    NOT NULL CHECK (trigger IN ('auto', 'manual')),
        outcome       TEXT    NOT NULL CHECK (outcome IN ('processed', 'failed', 'crashed', 'interrupted')),
        started_ms    INTEGER NOT NULL,
        ended_ms      INTEGER NOT NULL,
        error_name    TEXT,
        error_message TEXT,
        error_stack   TEXT,
        PRIMARY KEY (seq, number),
        CONSTRAINT failed_attempts_say_why CHECK (outcome != 'failed' OR error_name IS NOT NULL)
      ) STRICT, WITHOUT ROWID;

      -- Which types a processor handles, and when one was last seen.
      CREATE TABLE hookbox_takers (
        type    TEXT    PRIMARY KEY,
        seen_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 3,
    name: 'operations',
    needs: 1,
    sql: `
      -- What dead events are grouped by: a hash of what the last error said, without ids, numbers and quoted text.
      ALTER TABLE hookbox_events ADD COLUMN fingerprint TEXT;
      -- Everything about its entity was erased; another body under its id is not kept either.
      ALTER TABLE hookbox_events ADD COLUMN erased_ms INTEGER;
      -- An operator has put it away: unlike what merely had no handler, a redelivery does not run it in inline mode.
      ALTER TABLE hookbox_events ADD COLUMN discarded_ms INTEGER;

      -- What operators look for first. All of them are partial, so that an event that is handled well costs nothing here.
      CREATE INDEX hookbox_events_put_away ON hookbox_events (state)
        WHERE state IN ('dead', 'ignored');
      CREATE INDEX hookbox_events_dead ON hookbox_events (ifnull(fingerprint, dead_reason))
        WHERE state = 'dead' AND body IS NOT NULL;
      CREATE INDEX hookbox_events_retrying ON hookbox_events (seq, failures)
        WHERE state = 'pending' AND failures > 0;
      -- One for each state: of one for both SQLite would sort all that fits each time.
      CREATE INDEX hookbox_events_prunable_dead ON hookbox_events (settled_ms)
        WHERE state = 'dead' AND body IS NOT NULL;
      CREATE INDEX hookbox_events_prunable_ignored ON hookbox_events (settled_ms)
        WHERE state = 'ignored' AND body IS NOT NULL;

      -- By which words events are found: 'entity order:mer_7:ord_42', 'entity ord_42', 'merchant mer_7'. Filled behind
      -- the deliveries, up to the seq in hookbox_progress.
      CREATE TABLE hookbox_terms (
        term TEXT    NOT NULL,
        seq  INTEGER NOT NULL,
        PRIMARY KEY (term, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE hookbox_progress (
        what TEXT    PRIMARY KEY,
        seq  INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      -- What is counted comes in here, and is moved on to the sums now and then (operations/count-sums.ts).
      CREATE TABLE hookbox_counts (
        minute_ms INTEGER NOT NULL,
        what      TEXT    NOT NULL,
        detail    TEXT    NOT NULL,
        count     INTEGER NOT NULL,
        PRIMARY KEY (minute_ms, what, detail)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE hookbox_count_sums (
        per    TEXT    NOT NULL CHECK (per IN ('minute', 'hour', 'all')),
        at_ms  INTEGER NOT NULL,
        what   TEXT    NOT NULL,
        detail TEXT    NOT NULL,
        count  INTEGER NOT NULL,
        PRIMARY KEY (per, at_ms, what, detail)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE hookbox_rejected (
        seq      INTEGER PRIMARY KEY,
        endpoint TEXT    NOT NULL,
        reason   TEXT    NOT NULL,
        bytes    INTEGER,
        sha256   TEXT,
        source   TEXT,
        count    INTEGER NOT NULL CHECK (count > 0),
        first_ms INTEGER NOT NULL,
        last_ms  INTEGER NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX hookbox_rejected_alike
        ON hookbox_rejected (endpoint, reason, ifnull(sha256, ''), ifnull(source, ''), ifnull(bytes, -1));
      CREATE INDEX hookbox_rejected_latest ON hookbox_rejected (last_ms);

      CREATE TABLE hookbox_audit (
        seq    INTEGER PRIMARY KEY,
        at_ms  INTEGER NOT NULL,
        actor  TEXT    NOT NULL,
        via    TEXT    NOT NULL CHECK (via IN ('code', 'cli', 'page')),
        act    TEXT    NOT NULL,
        reason TEXT,
        filter TEXT    NOT NULL CHECK (json_valid(filter)),
        counts TEXT    NOT NULL CHECK (json_valid(counts))
      ) STRICT;

      CREATE TABLE hookbox_bulks (
        id         INTEGER PRIMARY KEY,
        act        TEXT    NOT NULL CHECK (act IN ('rerun', 'discard')),
        state      TEXT    NOT NULL CHECK (state IN ('filling', 'previewed', 'running', 'done', 'cancelled')),
        force      INTEGER NOT NULL CHECK (force IN (0, 1)),
        filter     TEXT    NOT NULL CHECK (json_valid(filter)),
        actor      TEXT    NOT NULL,
        reason     TEXT,
        created_ms INTEGER NOT NULL,
        started_ms INTEGER,
        ended_ms   INTEGER,
        total      INTEGER NOT NULL DEFAULT 0,
        breakdown  TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(breakdown)),
        worked     INTEGER NOT NULL DEFAULT 0,
        counts     TEXT    NOT NULL DEFAULT '{}' CHECK (json_valid(counts)),
        audit      INTEGER REFERENCES hookbox_audit (seq),
        CONSTRAINT bulks_that_ended_know_when CHECK ((state IN ('done', 'cancelled')) = (ended_ms IS NOT NULL)),
        CONSTRAINT bulks_that_ran_are_audited CHECK (started_ms IS NULL OR audit IS NOT NULL)
      ) STRICT;
      CREATE TABLE hookbox_bulk_events (
        bulk   INTEGER NOT NULL REFERENCES hookbox_bulks (id),
        seq    INTEGER NOT NULL,
        result TEXT,
        PRIMARY KEY (bulk, seq)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX hookbox_bulk_events_open ON hookbox_bulk_events (bulk, seq)
        WHERE result IS NULL;
    `,
  },
  {
    version: 4,
    name: 'endpoints',
    needs: 1,
    sql: `
      -- Each processor handles the events of its endpoints: a backlog of another one is not looked through. An event joins
      -- these when a processor has looked at it, so they cost a delivery nothing.
      CREATE INDEX hookbox_events_due_of_type ON hookbox_events (endpoint, type, due_ms, seq)
        WHERE state = 'pending' AND parked = 0;
      CREATE INDEX hookbox_events_due_of_endpoint ON hookbox_events (endpoint, due_ms, seq)
        WHERE state = 'pending' AND parked = 0;
      -- So that events whose type nobody handles are passed over at once where their entity's front is looked for.
      CREATE INDEX hookbox_events_waiting_of_type
        ON hookbox_events (entity, endpoint, type, created_ms, created_ns, seq)
        WHERE state = 'pending' AND parked < 2 AND entity IS NOT NULL;
      CREATE INDEX hookbox_events_prunable_of_endpoint ON hookbox_events (endpoint, settled_ms)
        WHERE state = 'processed' AND body IS NOT NULL;
      CREATE INDEX hookbox_events_unhandled ON hookbox_events (endpoint, type, settled_ms)
        WHERE state = 'ignored' AND discarded_ms IS NULL AND body IS NOT NULL;

      -- What a processor handles, and when one was last seen; '*' for every endpoint or type.
      CREATE TABLE hookbox_handling (
        endpoint TEXT    NOT NULL,
        type     TEXT    NOT NULL,
        seen_ms  INTEGER NOT NULL,
        PRIMARY KEY (endpoint, type)
      ) STRICT, WITHOUT ROWID;
      -- Processes that do not know the table above read and write hookbox_takers, so it is kept up to date. What differs
      -- from mirrored_ms was written by one of those, which handle every endpoint; others_ms keeps when.
      ALTER TABLE hookbox_takers ADD COLUMN mirrored_ms INTEGER;
      ALTER TABLE hookbox_takers ADD COLUMN others_ms INTEGER;
    `,
  },
  {
    version: 5,
    name: 'clock',
    needs: 1,
    sql: `
      -- The latest time at which a lease or a due time was written, to see when the clock is set back (../set-back.ts); and,
      -- while pending events are moved back by back_ms, how far that has got: first those that are parked, up to seq; then
      -- those of each endpoint, up to (due_ms, seq).
      CREATE TABLE hookbox_clock (
        id        INTEGER PRIMARY KEY CHECK (id = 1),
        latest_ms INTEGER NOT NULL,
        back_ms   INTEGER CHECK (back_ms > 0),
        endpoint  TEXT,
        due_ms    INTEGER NOT NULL DEFAULT 0,
        seq       INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      INSERT INTO hookbox_clock (id, latest_ms) VALUES (1, 0);
    `,
  },
  {
    version: 6,
    name: 'hurry',
    needs: 1,
    sql: `
      -- What a bulk is, where that is none of the two that its act may say: an older hookbox takes it for a rerun, which
      -- leaves pending events alone.
      ALTER TABLE hookbox_bulks ADD COLUMN does TEXT;
    `,
  },
];

/** The tables of an inbox, as far as this hookbox knows them; any other is the merchant's, whatever its name. */
export const TABLES: readonly string[] = [
  'hookbox_migrations',
  ...migrations.flatMap(({ sql }) => Array.from(sql.matchAll(/CREATE TABLE (\w+)/g), ([, name = '']) => name)),
];

/** The newest version of the tables that this hookbox knows. */
export const KNOWN_VERSION = Math.max(...migrations.map(({ version }) => version));

/**
 * Brings the tables of a file up to date, in one transaction that also is the write after which the caller looks at
 * `synchronous`. Safe when several processes start at once: the second one finds the work done.
 *
 * @throws InboxOpenError `NEEDS_NEWER_HOOKBOX`
 */
export function migrate(database: SqliteDatabase): void {
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
    if (present.needs > KNOWN_VERSION) {
      throw new InboxOpenError(
        'NEEDS_NEWER_HOOKBOX',
        `${database.name} was written by a newer hookbox: it needs schema version ${present.needs} and this hookbox ` +
          `knows up to ${KNOWN_VERSION}. Update the package hookbox in this process; the file is unchanged.`,
      );
    }
    for (const { version, name, needs, sql } of migrations) {
      if (version <= present.version) continue;
      database.exec(sql);
      database
        .prepare('INSERT INTO hookbox_migrations (version, name, needs, applied_ms) VALUES (?, ?, ?, ?)')
        .run(version, name, needs, Date.now());
    }
    // The write that FULL is asserted after, also when there was nothing to migrate.
    database.exec('UPDATE hookbox_migrations SET name = name WHERE version = 1');
    database.exec('COMMIT');
  } catch (failure) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw failure;
  }
}

/** Which version the tables of a file have, and which one a process must know to work on them. */
export function versionOf(database: Pick<SqliteDatabase, 'prepare'>): { version: number; needs: number } {
  const row = database
    .prepare('SELECT coalesce(max(version), 0) AS version, coalesce(max(needs), 0) AS needs FROM hookbox_migrations')
    .safeIntegers(false)
    .get();
  return row as { version: number; needs: number }; // the columns of the statement above
}
