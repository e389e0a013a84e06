import { deadReasons, eventStates } from '../../../state.ts';
import type { Migration } from './migration.ts';

const list = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');

export const events: Migration = {
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
        CHECK (state != 'processing' OR lease_until_ms IS NOT NULL),
      -- Of a processed one the handler runs on, whose transaction has committed.
      CONSTRAINT leases_are_on_what_runs
        CHECK (lease_until_ms IS NULL OR state IN ('processing', 'processed')),
      CONSTRAINT leases_know_since_when
        CHECK ((lease_until_ms IS NULL) = (claimed_ms IS NULL)),
      CONSTRAINT only_pending_events_are_parked
        CHECK (parked = 0 OR state = 'pending'),
      CONSTRAINT settled_events_know_since_when
        CHECK ((state IN ('processed', 'dead', 'ignored')) = (settled_ms IS NOT NULL)),
      CONSTRAINT valid_events_have_a_type_and_a_time
        CHECK ((type IS NOT NULL AND created_ms IS NOT NULL AND created_ns IS NOT NULL) OR dead_reason IS 'invalid'
          -- Of an event that other code has handled, the inbox knows the id only.
          OR (state = 'processed' AND body IS NULL AND length(body_sha256) = 0)),
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
};
