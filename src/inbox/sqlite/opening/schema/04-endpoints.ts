import type { Migration } from './migration.ts';

export const endpoints: Migration = {
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
};
