import { SLOTS } from '../../sql/slots.ts';
import type { Migration } from './migration.ts';

export const handling: Migration = {
  version: 1,
  name: 'events and their handling',
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
      body_sha256 bytea,
      body        bytea,
      CONSTRAINT tombstones_keep_a_hash CHECK ((body IS NULL) = (body_sha256 IS NOT NULL))
    );
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
      attempts       integer NOT NULL DEFAULT 0,
      failures       integer NOT NULL DEFAULT 0,
      crashes        integer NOT NULL DEFAULT 0,
      trigger        text COLLATE "C" NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual')),
      fence          bigint NOT NULL DEFAULT 0,
      claimed_ms     bigint,
      lease_until_ms bigint,
      -- what no other lease may have: the entity of a lease that is in order, and the place of the one suspect
      leased_entity  text COLLATE "C",
      leased_suspect boolean,
      CONSTRAINT leases_know_since_when CHECK ((lease_until_ms IS NULL) = (claimed_ms IS NULL)),
      CONSTRAINT only_pending_events_are_parked CHECK (NOT parked OR lease_until_ms IS NULL)
    ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
            autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000000000);
    -- No partial index implies another, so none is taken for one that it is not: what is due of a type, and of any type.
    CREATE INDEX queue_due ON ${t.queue} (endpoint, type, due_ms, seq) WHERE lease_until_ms IS NULL AND NOT parked;
    CREATE INDEX queue_due_any ON ${t.queue} (endpoint, (due_ms + 0), seq) WHERE lease_until_ms IS NULL AND NOT parked;
    CREATE INDEX queue_of_entity ON ${t.queue} (entity, endpoint, created_ms, created_ns, seq)
      WHERE lease_until_ms IS NULL AND entity IS NOT NULL;
    CREATE INDEX queue_parked ON ${t.queue} ((seq + 0)) WHERE parked;
    CREATE INDEX queue_fresh ON ${t.queue} ((due_ms + 1)) WHERE fresh;
    CREATE INDEX queue_leases ON ${t.queue} (lease_until_ms) WHERE lease_until_ms IS NOT NULL;
    CREATE INDEX queue_leases_of_entity ON ${t.queue} (entity, endpoint, lease_until_ms)
      WHERE lease_until_ms IS NOT NULL AND entity IS NOT NULL;
    -- Two machines may both have found an entity free, or no suspect running.
    CREATE UNIQUE INDEX queue_one_lease ON ${t.queue} (leased_entity, endpoint) WHERE leased_entity IS NOT NULL;
    CREATE UNIQUE INDEX queue_one_suspect ON ${t.queue} (leased_suspect) WHERE leased_suspect;
    -- Statistics of such a table are wrong as soon as they are taken: plans have fixed ones.
    ${['seq', 'endpoint', 'type', 'entity', 'due_ms', 'created_ms', 'lease_until_ms', 'parked', 'fresh']
      .map((column) => `ALTER TABLE ${t.queue} ALTER COLUMN ${column} SET STATISTICS 0;`)
      .join('\n')}
    ALTER TABLE ${t.queue} ALTER COLUMN endpoint SET (n_distinct = 10);
    ALTER TABLE ${t.queue} ALTER COLUMN type SET (n_distinct = 100);
    ALTER TABLE ${t.queue} ALTER COLUMN entity SET (n_distinct = -0.5);

    -- Dead and ignored events: nothing happens to them by itself.
    CREATE TABLE ${t.shelf} (
      seq          bigint PRIMARY KEY,
      state        text COLLATE "C" NOT NULL CHECK (state IN ('dead', 'ignored')),
      dead_reason  text COLLATE "C" CHECK (dead_reason IN ('failed', 'crashed', 'invalid')),
      endpoint     text COLLATE "C" NOT NULL,
      type         text COLLATE "C",
      settled_ms   bigint NOT NULL,
      due_ms       bigint NOT NULL,
      fingerprint  text COLLATE "C",
      discarded_ms bigint,
      attempts     integer NOT NULL DEFAULT 0,
      failures     integer NOT NULL DEFAULT 0,
      crashes      integer NOT NULL DEFAULT 0,
      trigger      text COLLATE "C" NOT NULL DEFAULT 'auto' CHECK (trigger IN ('auto', 'manual')),
      fence        bigint NOT NULL DEFAULT 0,
      CONSTRAINT dead_events_have_a_reason CHECK ((state = 'dead') = (dead_reason IS NOT NULL))
    );
    CREATE INDEX shelf_ignored ON ${t.shelf} (endpoint, type, settled_ms)
      WHERE state = 'ignored' AND discarded_ms IS NULL;

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
      PRIMARY KEY (seq, number),
      CONSTRAINT failed_attempts_say_why CHECK (outcome <> 'failed' OR error_name IS NOT NULL)
    );
    CREATE INDEX attempts_prunable ON ${t.attempts} (endpoint, ended_ms, seq) WHERE prunable;

    -- The newest event of each entity that was processed; it outlives the events themselves.
    CREATE TABLE ${t.entities} (
      entity     text COLLATE "C" NOT NULL,
      endpoint   text COLLATE "C" NOT NULL,
      created_ms bigint NOT NULL,
      created_ns integer NOT NULL,
      PRIMARY KEY (entity, endpoint)
    ) WITH (fillfactor = 80);

    CREATE TABLE ${t.takers} (
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
  `,
};
