import type { Migration } from './migration.ts';

export const handling: Migration = {
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
    CREATE INDEX hookbox_events_leased ON hookbox_events (entity, endpoint, lease_until_ms, crashes, state)
      WHERE lease_until_ms IS NOT NULL;
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
};
