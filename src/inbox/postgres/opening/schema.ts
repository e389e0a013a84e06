import { SLOTS, type Tables } from '../sql/tables.ts';

/** A step from one version of the schema to the next. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  /** the oldest version that a process must know to work on a schema with this one */
  readonly needs: number;
  readonly sql: (tables: Tables) => string;
}

/** The tables of an inbox. Texts are compared byte by byte (`COLLATE "C"`), whatever the database's own collation is. */
export const schema: Migration = {
  version: 1,
  name: 'hookbox 0.1',
  needs: 1,
  sql: (t) => `
    -- Written once, and again only when an event is replaced, rerun or pruned: millions of them leave nothing to vacuum.
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
      -- all about its entity was erased; another body under its id is not kept either
      erased_ms   bigint,
      -- the trace context of its delivery as in the W3C headers: traceparent, a space, tracestate
      trace       text COLLATE "C",
      body_sha256 bytea,
      body        bytea,
      CONSTRAINT tombstones_keep_a_hash CHECK ((body IS NULL) = (body_sha256 IS NOT NULL))
    );
    -- Deliveries, the verbs on one event, searches by id, and ids that begin with a text.
    CREATE UNIQUE INDEX events_by_key ON ${t.events} (id, endpoint);

    -- What is not settled. An event is in it, or on the shelf; one that is in neither was processed.
    CREATE TABLE ${t.queue} (
      seq            bigint PRIMARY KEY,
      endpoint       text COLLATE "C" NOT NULL,
      type           text COLLATE "C" NOT NULL,
      entity         text COLLATE "C",
      slot           smallint NOT NULL,
      created_ms     bigint NOT NULL,
      created_ns     integer NOT NULL,
      due_ms         bigint NOT NULL,
      -- no processor has looked at it yet
      fresh          boolean NOT NULL,
      -- waits for an older event of its entity
      parked         boolean NOT NULL DEFAULT false,
      -- it has failed and lets newer events of its entity pass (blocks: false)
      yields         boolean NOT NULL DEFAULT false,
      attempts       integer NOT NULL DEFAULT 0,
      failures       integer NOT NULL DEFAULT 0,
      crashes        integer NOT NULL DEFAULT 0,
      trigger        text COLLATE "C" NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual')),
      fence          bigint NOT NULL DEFAULT 0,
      claimed_ms     bigint,
      -- the number of the claim that has leased it; if its answer is lost, the next claim gives the lease back
      claim          bigint,
      lease_until_ms bigint,
      -- the transaction of its handler is committed; the row keeps the lease until the handler ends
      processed      boolean NOT NULL DEFAULT false,
      -- its processor is closing; if the lease runs out then, the attempt was interrupted
      closing        boolean NOT NULL DEFAULT false,
      -- unique among leases: the entity of an ordered event, and the one suspect
      leased_entity  text COLLATE "C",
      leased_suspect boolean,
      CONSTRAINT leases_have_a_start CHECK ((lease_until_ms IS NULL) = (claimed_ms IS NULL)),
      CONSTRAINT only_pending_events_are_parked CHECK (NOT parked OR lease_until_ms IS NULL),
      CONSTRAINT processed_events_here_have_a_lease CHECK (NOT processed OR lease_until_ms IS NOT NULL)
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
            autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000000000);
    -- No partial index implies another, so none is taken for one that it is not.
    -- Claims of named types, and when the next is due of them; what waits by type, of announcements and operators.
    CREATE INDEX queue_due ON ${t.queue} (endpoint, type, due_ms, seq) WHERE lease_until_ms IS NULL AND NOT parked;
    -- Claims of all types, and when the next is due; operators' gauges.
    CREATE INDEX queue_due_any ON ${t.queue} (endpoint, (due_ms + 0), seq) WHERE lease_until_ms IS NULL AND NOT parked;
    -- The front of an entity, of those that hold others back; what is parked before it, and for operators what waits behind.
    CREATE INDEX queue_of_entity ON ${t.queue} (entity, endpoint, yields, created_ms, created_ns, seq)
      WHERE lease_until_ms IS NULL AND entity IS NOT NULL;
    -- What is parked of an entity and yields: some have their turn when another event has ended.
    CREATE INDEX queue_yielding ON ${t.queue} (entity, endpoint, seq) WHERE yields AND parked;
    -- Operators' lists and gauges; parked ones also of announcements.
    CREATE INDEX queue_retrying ON ${t.queue} ((seq + 0)) WHERE lease_until_ms IS NULL AND failures > 0;
    CREATE INDEX queue_parked ON ${t.queue} ((seq + 0)) WHERE parked;
    -- Each claim looks here for what has arrived in the future, by a clock that was set back since: among all that is due later
    -- there may be many that failed.
    CREATE INDEX queue_fresh ON ${t.queue} ((due_ms + 1)) WHERE fresh;
    -- Leases that ran out, and when the next does; whether a suspect runs; operators' list of what is running.
    CREATE INDEX queue_leases ON ${t.queue} (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
    -- Whether something of an entity runs: in order, and besides. Two machines may both have found an entity free, or no suspect
    -- running.
    CREATE UNIQUE INDEX queue_one_lease ON ${t.queue} (leased_entity, endpoint) WHERE leased_entity IS NOT NULL;
    CREATE INDEX queue_other_leases ON ${t.queue} (entity, endpoint)
      WHERE lease_until_ms IS NOT NULL AND leased_entity IS NULL AND entity IS NOT NULL;
    CREATE UNIQUE INDEX queue_one_suspect ON ${t.queue} (leased_suspect) WHERE leased_suspect;
    -- Statistics of such a table are wrong as soon as they are taken: plans have fixed ones.
    ${['seq', 'endpoint', 'type', 'entity', 'due_ms', 'created_ms', 'lease_until_ms', 'parked', 'fresh', 'yields']
      .map((column) => `ALTER TABLE ${t.queue} ALTER COLUMN ${column} SET STATISTICS 0;`)
      .join('\n')}
    ALTER TABLE ${t.queue} ALTER COLUMN endpoint SET (n_distinct = 10);
    ALTER TABLE ${t.queue} ALTER COLUMN type SET (n_distinct = 100);
    ALTER TABLE ${t.queue} ALTER COLUMN entity SET (n_distinct = -0.5);

    -- Dead, ignored and discarded events: nothing happens to them by itself.
    CREATE TABLE ${t.shelf} (
      seq          bigint PRIMARY KEY,
      state        text COLLATE "C" NOT NULL CHECK (state IN ('dead', 'ignored', 'discarded')),
      dead_reason  text COLLATE "C" CHECK (dead_reason IN ('failed', 'crashed', 'invalid')),
      endpoint     text COLLATE "C" NOT NULL,
      type         text COLLATE "C",
      settled_ms   bigint NOT NULL,
      due_ms       bigint NOT NULL,
      fingerprint  text COLLATE "C",
      -- a tombstone: known without its row of events
      pruned       boolean NOT NULL DEFAULT false,
      attempts     integer NOT NULL DEFAULT 0,
      failures     integer NOT NULL DEFAULT 0,
      crashes      integer NOT NULL DEFAULT 0,
      trigger      text COLLATE "C" NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual')),
      fence        bigint NOT NULL DEFAULT 0,
      CONSTRAINT dead_events_have_a_reason CHECK ((state = 'dead') = (dead_reason IS NOT NULL))
    );
    -- Types that nobody handles, of announcements and operators.
    CREATE INDEX shelf_ignored ON ${t.shelf} (endpoint, type, settled_ms) WHERE state = 'ignored';
    -- Operators' groups of dead events.
    CREATE INDEX shelf_dead ON ${t.shelf} ((coalesce(fingerprint, dead_reason)), seq) WHERE state = 'dead' AND NOT pruned;
    -- Operators' lists and counts by state. Of no statement but one that asks for it in these words, as what asks for less has
    -- indexes of its own.
    CREATE INDEX shelf_by_state ON ${t.shelf} ((state || ''), (seq + 0));
    -- Pruning, and operators' list of dead events by time.
    CREATE INDEX shelf_prunable ON ${t.shelf} (state, endpoint, settled_ms, seq) WHERE NOT pruned;

    CREATE TABLE ${t.attempts} (
      seq           bigint NOT NULL,
      number        integer NOT NULL,
      trigger       text COLLATE "C" NOT NULL CHECK (trigger IN ('auto', 'manual')),
      outcome       text COLLATE "C" NOT NULL CHECK (outcome IN ('processed', 'failed', 'crashed', 'interrupted')),
      fence         bigint NOT NULL,
      endpoint      text COLLATE "C" NOT NULL,
      started_ms    bigint NOT NULL,
      ended_ms      bigint NOT NULL,
      -- it has processed its event, whose body is still there
      prunable      boolean NOT NULL,
      error_name    text,
      error_message text,
      error_stack   text,
      -- why the handler skipped the event
      skipped       text,
      -- the number of the claim that found it crashed: if its answer is lost, the next claim reports it
      found_by      bigint,
      PRIMARY KEY (seq, number),
      CONSTRAINT failed_attempts_have_an_error CHECK (outcome <> 'failed' OR error_name IS NOT NULL)
    );
    -- Pruning of processed events, endpoint by endpoint.
    CREATE INDEX attempts_prunable ON ${t.attempts} (endpoint, ended_ms, seq) WHERE prunable;
    -- Claims that are asked again.
    CREATE INDEX attempts_found ON ${t.attempts} (found_by) WHERE found_by IS NOT NULL;

    -- The newest event of each entity that was processed. It outlives the events.
    CREATE TABLE ${t.entities} (
      entity     text COLLATE "C" NOT NULL,
      endpoint   text COLLATE "C" NOT NULL,
      created_ms bigint NOT NULL,
      created_ns integer NOT NULL,
      PRIMARY KEY (entity, endpoint)
    ) WITH (fillfactor = 80);

    CREATE TABLE ${t.handling} (
      endpoint text COLLATE "C" NOT NULL,
      type     text COLLATE "C" NOT NULL,
      seen_ms  bigint NOT NULL,
      PRIMARY KEY (endpoint, type)
    );

    CREATE TABLE ${t.redeliveries} (
      seq      bigint PRIMARY KEY,
      count    bigint NOT NULL,
      first_ms bigint NOT NULL,
      last_ms  bigint NOT NULL,
      recent   text NOT NULL
    );
    CREATE TABLE ${t.conflicts} (
      seq      bigint PRIMARY KEY,
      count    bigint NOT NULL,
      first_ms bigint NOT NULL,
      last_ms  bigint NOT NULL,
      recent   text NOT NULL,
      body     bytea NOT NULL
    );

    -- The transaction of a handler is under way; one that stays was ended by the handler's own COMMIT.
    CREATE TABLE ${t.effects} (
      seq   bigint NOT NULL,
      fence bigint NOT NULL,
      PRIMARY KEY (seq, fence)
    );

    -- The latest time at which leases and due times were written. Its one row has a key, as a table that is published needs.
    CREATE TABLE ${t.clock} (one boolean PRIMARY KEY DEFAULT true CHECK (one), latest_ms bigint NOT NULL);
    INSERT INTO ${t.clock} (latest_ms) VALUES (0);

    CREATE TABLE ${t.slots} (slot smallint PRIMARY KEY) WITH (fillfactor = 50);
    INSERT INTO ${t.slots} SELECT generate_series(0, ${SLOTS - 1});
  

    -- Running processors, with what they handle as JSON. One that is silent for ten minutes is taken for ended.
    CREATE TABLE ${t.processors} (
      name       text COLLATE "C" PRIMARY KEY,
      endpoints  text COLLATE "C" NOT NULL,
      types      text COLLATE "C" NOT NULL,
      started_ms bigint NOT NULL,
      seen_ms    bigint NOT NULL
    );
  

    -- The lines of the audit about each event.
    CREATE TABLE ${t.event_acts} (
      seq   bigint NOT NULL,
      audit bigint NOT NULL,
      at_ms bigint NOT NULL,
      PRIMARY KEY (seq, audit)
    );
    -- Types of an endpoint that processors leave alone until they are resumed.
    CREATE TABLE ${t.pauses} (
      endpoint text COLLATE "C" NOT NULL,
      type     text COLLATE "C" NOT NULL,
      since_ms bigint NOT NULL,
      actor    text NOT NULL,
      reason   text,
      PRIMARY KEY (endpoint, type)
    );
  

    -- What events are about, as they are found by it; long terms are hashed.
    CREATE TABLE ${t.terms} (
      term text COLLATE "C" NOT NULL,
      seq  bigint NOT NULL,
      PRIMARY KEY (term, seq)
    );
    -- Events that are not in it yet, a row for what was stored together: their numbers may come in any order.
    CREATE TABLE ${t.unindexed} (
      first bigint PRIMARY KEY,
      count integer NOT NULL,
      seqs  bigint[] NOT NULL
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
    -- What something that goes through the tables has come to.
    CREATE TABLE ${t.progress} (
      what text COLLATE "C" PRIMARY KEY,
      seq  bigint NOT NULL
    );
    -- Who enters events into the index locks it, and who changes one.
    INSERT INTO ${t.progress} VALUES ('terms', 0);

    -- Rows are only appended, as machines that add to the same row would wait for each other, and summed up behind that.
    CREATE TABLE ${t.counts} (
      minute_ms bigint NOT NULL,
      seq       bigint GENERATED ALWAYS AS IDENTITY,
      what      text COLLATE "C" NOT NULL,
      detail    text COLLATE "C" NOT NULL,
      count     bigint NOT NULL,
      PRIMARY KEY (minute_ms, seq)
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);

    CREATE TABLE ${t.count_sums} (
      per    text COLLATE "C" NOT NULL CHECK (per IN ('minute', 'hour', 'all')),
      -- 0 of the sum of all
      at_ms  bigint NOT NULL,
      what   text COLLATE "C" NOT NULL,
      detail text COLLATE "C" NOT NULL,
      count  bigint NOT NULL,
      PRIMARY KEY (per, at_ms, what, detail)
    ) WITH (fillfactor = 90);

    -- Appended too, and alike ones put together behind that.
    CREATE TABLE ${t.rejected} (
      seq      bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
      endpoint text COLLATE "C" NOT NULL,
      reason   text COLLATE "C" NOT NULL,
      bytes    bigint,
      sha256   text COLLATE "C",
      source   text COLLATE "C",
      count    bigint NOT NULL,
      first_ms bigint NOT NULL,
      last_ms  bigint NOT NULL
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

    -- When a release was first seen or came back, and when a new secret of an endpoint began; nothing of a secret itself.
    CREATE TABLE ${t.marks} (
      seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind     text COLLATE "C" NOT NULL,
      name     text COLLATE "C" NOT NULL,
      -- of the processes with this release; '*' for several
      endpoint text COLLATE "C" NOT NULL,
      at_ms    bigint NOT NULL,
      -- when a process last reported it, and when its last process ended
      seen_ms  bigint NOT NULL,
      ended_ms bigint
    );
    CREATE INDEX marks_in_time ON ${t.marks} (at_ms, seq);
    CREATE INDEX marks_of_kind ON ${t.marks} (kind, at_ms, seq);
    CREATE INDEX marks_of_name ON ${t.marks} (kind, name, at_ms, seq);
  

    CREATE TABLE ${t.audit} (
      seq    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at_ms  bigint NOT NULL,
      actor  text NOT NULL,
      via    text COLLATE "C" NOT NULL CHECK (via IN ('code', 'cli', 'page')),
      act    text NOT NULL,
      reason text,
      -- JSON, as text: jsonb has no U+0000
      filter text NOT NULL,
      counts text NOT NULL
    );
  

    CREATE TABLE ${t.bulks} (
      id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      act        text COLLATE "C" NOT NULL CHECK (act IN ('rerun', 'discard', 'retry-now')),
      state      text COLLATE "C" NOT NULL CHECK (state IN ('filling', 'previewed', 'running', 'done', 'cancelled')),
      force      boolean NOT NULL,
      -- JSON, as text: jsonb has no U+0000
      filter     text NOT NULL,
      actor      text NOT NULL,
      reason     text,
      created_ms bigint NOT NULL,
      started_ms bigint,
      ended_ms   bigint,
      total      integer NOT NULL DEFAULT 0,
      breakdown  text NOT NULL DEFAULT '{}',
      worked     integer NOT NULL DEFAULT 0,
      -- up to this event all have a result
      reached    bigint NOT NULL DEFAULT 0,
      counts     text NOT NULL DEFAULT '{}',
      audit      bigint,
      -- when its process last reported, and whether to say that it stops
      heartbeat_ms bigint,
      stopped      boolean NOT NULL DEFAULT false
    );
    -- What a bulk is about, and what came of each.
    CREATE TABLE ${t.bulk_events} (
      bulk   bigint NOT NULL,
      seq    bigint NOT NULL,
      result text COLLATE "C",
      PRIMARY KEY (bulk, seq)
    );
    CREATE INDEX bulk_events_open ON ${t.bulk_events} (bulk, seq) WHERE result IS NULL;

    -- Events that were processed elsewhere: of these the attempts do not say everything, or there are none.
    CREATE TABLE ${t.imported} (
      seq        bigint PRIMARY KEY,
      endpoint   text COLLATE "C" NOT NULL,
      settled_ms bigint NOT NULL,
      due_ms     bigint NOT NULL,
      attempts   integer NOT NULL,
      failures   integer NOT NULL,
      crashes    integer NOT NULL,
      trigger    text COLLATE "C" NOT NULL CHECK (trigger IN ('auto', 'manual')),
      -- its body is still there
      prunable   boolean NOT NULL
    );
    CREATE INDEX imported_prunable ON ${t.imported} (endpoint, settled_ms, seq) WHERE prunable;
  `,
};

/** The schema stays within a minor version. */
export const migrations: readonly Migration[] = [schema];
