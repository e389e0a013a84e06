import type { Migration } from './migration.ts';

export const operations: Migration = {
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
};
