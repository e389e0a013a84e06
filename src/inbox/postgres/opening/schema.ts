import { createSharedTables } from '../../shared-tables.ts';
import { SLOTS, type Tables } from '../sql/tables.ts';

export interface Migration {
  readonly version: number;
  readonly name: string;
  /** the oldest version of hookbox's schema support that can use this schema */
  readonly needs: number;
  readonly sql: (tables: Tables) => string;
}

const wordsOf = (t: Tables): Parameters<typeof createSharedTables>[0] => ({
  t,
  int: 'bigint',
  small: 'integer',
  text: 'text COLLATE "C"',
  bytes: 'bytea',
  numbered: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  flag: () => 'boolean NOT NULL DEFAULT false',
  // As text, because jsonb has no U+0000.
  json: () => 'text NOT NULL',
  refersTo: () => '',
  end: '',
  keyed: '',
});

/** Texts are compared byte by byte, whatever the collation of the database is. */
export const schema: Migration = {
  version: 1,
  name: 'hookbox 0.1',
  needs: 1,
  sql: (t) => `
    -- Rarely changed, so millions of rows leave nothing to vacuum.
    CREATE TABLE ${t.events} (
      seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      endpoint    text COLLATE "C" NOT NULL,
      id          text COLLATE "C" NOT NULL,
      type        text COLLATE "C",
      created_ms  bigint,
      created_ns  integer,
      entity      text COLLATE "C",
      slot        smallint NOT NULL,
      verified    boolean NOT NULL,
      received_ms bigint NOT NULL,
      erased_ms   bigint,
      -- traceparent, a space, tracestate
      trace       text COLLATE "C",
      body_sha256 bytea,
      body        bytea,
      CONSTRAINT tombstones_keep_a_hash CHECK ((body IS NULL) = (body_sha256 IS NOT NULL))
    );
    -- Deliveries, actions, searches by id or its beginning.
    CREATE UNIQUE INDEX events_by_key ON ${t.events} (id, endpoint);

    -- Events that are not settled. Events in neither queue nor shelf were processed.
    CREATE TABLE ${t.queue} (
      seq            bigint PRIMARY KEY,
      endpoint       text COLLATE "C" NOT NULL,
      type           text COLLATE "C" NOT NULL,
      entity         text COLLATE "C",
      slot           smallint NOT NULL,
      created_ms     bigint NOT NULL,
      created_ns     integer NOT NULL,
      due_ms         bigint NOT NULL,
      fresh          boolean NOT NULL,
      parked         boolean NOT NULL DEFAULT false,
      -- it has failed and lets newer events pass (blocks: false)
      yields         boolean NOT NULL DEFAULT false,
      attempts       integer NOT NULL DEFAULT 0,
      failures       integer NOT NULL DEFAULT 0,
      crashes        integer NOT NULL DEFAULT 0,
      trigger        text COLLATE "C" NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual')),
      fence          bigint NOT NULL DEFAULT 0,
      claimed_ms     bigint,
      -- the claim that leased it; the next claim releases the lease if the answer was lost
      claim          bigint,
      lease_until_ms bigint,
      processed      boolean NOT NULL DEFAULT false,
      -- its processor is closing; an expired lease then counts as an interruption
      closing        boolean NOT NULL DEFAULT false,
      -- unique among leases: the entity of an ordered event, and the one suspect
      leased_entity  text COLLATE "C",
      leased_suspect boolean,
      CONSTRAINT leases_have_a_start CHECK ((lease_until_ms IS NULL) = (claimed_ms IS NULL)),
      CONSTRAINT only_pending_events_are_parked CHECK (NOT parked OR lease_until_ms IS NULL),
      CONSTRAINT processed_events_here_have_a_lease CHECK (NOT processed OR lease_until_ms IS NOT NULL)
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
            autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000000000);
    -- No partial index implies another, so Postgres does not confuse them. Claims and due times of named types;
    -- announcements and operators.
    CREATE INDEX queue_due ON ${t.queue} (endpoint, type, due_ms, seq) WHERE lease_until_ms IS NULL AND NOT parked;
    -- Claims and due times of all types; gauges.
    CREATE INDEX queue_due_any ON ${t.queue} (endpoint, (due_ms + 0), seq) WHERE lease_until_ms IS NULL AND NOT parked;
    -- The front of an entity; events before and behind an event.
    CREATE INDEX queue_of_entity ON ${t.queue} (entity, endpoint, yields, created_ms, created_ns, seq)
      WHERE lease_until_ms IS NULL AND entity IS NOT NULL;
    -- Parked events that yield: some are claimed when another event has ended.
    CREATE INDEX queue_yielding ON ${t.queue} (entity, endpoint, seq) WHERE yields AND parked;
    -- Operators; announcements read parked events.
    CREATE INDEX queue_retrying ON ${t.queue} ((seq + 0)) WHERE lease_until_ms IS NULL AND failures > 0;
    CREATE INDEX queue_parked ON ${t.queue} ((seq + 0)) WHERE parked;
    -- Claims look for events of the future, which a clock that was set back has left.
    CREATE INDEX queue_fresh ON ${t.queue} ((due_ms + 1)) WHERE fresh;
    -- Expired leases; operators' list of running events.
    CREATE INDEX queue_leases ON ${t.queue} (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
    -- Two machines may both find an entity free, or no suspect running.
    CREATE UNIQUE INDEX queue_one_lease ON ${t.queue} (leased_entity, endpoint) WHERE leased_entity IS NOT NULL;
    CREATE INDEX queue_other_leases ON ${t.queue} (entity, endpoint)
      WHERE lease_until_ms IS NOT NULL AND leased_entity IS NULL AND entity IS NOT NULL;
    CREATE UNIQUE INDEX queue_one_suspect ON ${t.queue} (leased_suspect) WHERE leased_suspect;
    -- Statistics of this table are soon wrong, so plans have fixed ones.
    ${['seq', 'endpoint', 'type', 'entity', 'due_ms', 'created_ms', 'lease_until_ms', 'parked', 'fresh', 'yields']
      .map((column) => `ALTER TABLE ${t.queue} ALTER COLUMN ${column} SET STATISTICS 0;`)
      .join('\n')}
    ALTER TABLE ${t.queue} ALTER COLUMN endpoint SET (n_distinct = 10);
    ALTER TABLE ${t.queue} ALTER COLUMN type SET (n_distinct = 100);
    ALTER TABLE ${t.queue} ALTER COLUMN entity SET (n_distinct = -0.5);

    CREATE TABLE ${t.shelf} (
      seq          bigint PRIMARY KEY,
      state        text COLLATE "C" NOT NULL CHECK (state IN ('dead', 'ignored', 'discarded')),
      dead_reason  text COLLATE "C" CHECK (dead_reason IN ('failed', 'crashed', 'invalid')),
      endpoint     text COLLATE "C" NOT NULL,
      type         text COLLATE "C",
      settled_ms   bigint NOT NULL,
      due_ms       bigint NOT NULL,
      fingerprint  text COLLATE "C",
      pruned       boolean NOT NULL DEFAULT false,
      attempts     integer NOT NULL DEFAULT 0,
      failures     integer NOT NULL DEFAULT 0,
      crashes      integer NOT NULL DEFAULT 0,
      trigger      text COLLATE "C" NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual')),
      fence        bigint NOT NULL DEFAULT 0,
      CONSTRAINT dead_events_have_a_reason CHECK ((state = 'dead') = (dead_reason IS NOT NULL))
    );
    CREATE INDEX shelf_ignored ON ${t.shelf} (endpoint, type, settled_ms) WHERE state = 'ignored';
    CREATE INDEX shelf_dead ON ${t.shelf} ((coalesce(fingerprint, dead_reason)), seq) WHERE state = 'dead' AND NOT pruned;
    CREATE INDEX shelf_dead_at ON ${t.shelf} ((coalesce(fingerprint, dead_reason)), settled_ms)
      WHERE state = 'dead' AND NOT pruned;
    -- Operators. Only statements with these words use it.
    CREATE INDEX shelf_by_state ON ${t.shelf} ((state || ''), (seq + 0));
    -- Pruning; dead events by time.
    CREATE INDEX shelf_prunable ON ${t.shelf} (state, endpoint, settled_ms, seq) WHERE NOT pruned;

    CREATE TABLE ${t.attempts} (
      seq           bigint NOT NULL,
      number        integer NOT NULL,
      trigger       text COLLATE "C" NOT NULL CHECK (trigger IN ('auto', 'manual')),
      outcome       text COLLATE "C" NOT NULL CHECK (outcome IN ('processed', 'failed', 'crashed', 'interrupted', 'superseded')),
      fence         bigint NOT NULL,
      endpoint      text COLLATE "C" NOT NULL,
      started_ms    bigint NOT NULL,
      ended_ms      bigint NOT NULL,
      -- processed, with a body
      prunable      boolean NOT NULL,
      error_name    text,
      error_message text,
      error_stack   text,
      skipped       text,
      -- JSON
      log           text,
      attempt_limit integer,
      processor     text COLLATE "C",
      -- the claim that found the crash; the next claim reports it if the answer was lost
      found_by      bigint,
      PRIMARY KEY (seq, number),
      CONSTRAINT failed_attempts_have_an_error CHECK (outcome <> 'failed' OR error_name IS NOT NULL)
    );
    CREATE INDEX attempts_prunable ON ${t.attempts} (endpoint, ended_ms, seq) WHERE prunable;
    CREATE INDEX attempts_found ON ${t.attempts} (found_by) WHERE found_by IS NOT NULL;
    -- Operators. Only statements with these words use it.
    CREATE INDEX attempts_superseded ON ${t.attempts} ((seq + 0)) WHERE outcome = 'superseded';

    CREATE TABLE ${t.effects} (
      seq   bigint NOT NULL,
      fence bigint NOT NULL,
      PRIMARY KEY (seq, fence)
    );

    -- The latest time of leases and due times. Publications need a key.
    CREATE TABLE ${t.clock} (one boolean PRIMARY KEY DEFAULT true CHECK (one), latest_ms bigint NOT NULL);
    INSERT INTO ${t.clock} (latest_ms) VALUES (0);

    CREATE TABLE ${t.slots} (slot smallint PRIMARY KEY) WITH (fillfactor = 50);
    INSERT INTO ${t.slots} SELECT generate_series(0, ${SLOTS - 1});

${createSharedTables(wordsOf(t))}
    ALTER TABLE ${t.entities} SET (fillfactor = 80);
    ALTER TABLE ${t.count_sums} SET (fillfactor = 90);
    ALTER TABLE ${t.rejected} ALTER COLUMN seq SET GENERATED BY DEFAULT;
    ALTER TABLE ${t.rejected} SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
    -- Numbers of events that are not indexed, a row for each group.
    CREATE TABLE ${t.unindexed} (
      first bigint PRIMARY KEY,
      count integer NOT NULL,
      seqs  bigint[] NOT NULL
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
    -- Indexing, and changes of indexed events, lock this row.
    INSERT INTO ${t.progress} VALUES ('terms', 0);

    -- Appended, because machines that change a row wait for each other; summed up later.
    CREATE TABLE ${t.counts} (
      minute_ms bigint NOT NULL,
      seq       bigint GENERATED ALWAYS AS IDENTITY,
      what      text COLLATE "C" NOT NULL,
      detail    text COLLATE "C" NOT NULL,
      count     bigint NOT NULL,
      PRIMARY KEY (minute_ms, seq)
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

    CREATE INDEX marks_in_time ON ${t.marks} (at_ms, seq);
    CREATE INDEX marks_of_kind ON ${t.marks} (kind, at_ms, seq);
    CREATE INDEX marks_of_name ON ${t.marks} (kind, name, at_ms, seq);
    CREATE INDEX bulk_events_open ON ${t.bulk_events} (bulk, seq) WHERE result IS NULL;
    CREATE INDEX bulk_events_skipped ON ${t.bulk_events} (bulk, seq) WHERE result <> 'done';

    -- Events that were processed elsewhere: their attempts do not have all facts.
    CREATE TABLE ${t.imported} (
      seq        bigint PRIMARY KEY,
      endpoint   text COLLATE "C" NOT NULL,
      settled_ms bigint NOT NULL,
      due_ms     bigint NOT NULL,
      attempts   integer NOT NULL,
      failures   integer NOT NULL,
      crashes    integer NOT NULL,
      trigger    text COLLATE "C" NOT NULL CHECK (trigger IN ('auto', 'manual')),
      prunable   boolean NOT NULL
    );
    CREATE INDEX imported_prunable ON ${t.imported} (endpoint, settled_ms, seq) WHERE prunable;
  `,
};

/** The schema stays within a minor version. */
export const migrations: readonly Migration[] = [schema];
