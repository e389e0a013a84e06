import type { Migration } from './migration.ts';

export const optionsByType: Migration = {
  version: 7,
  name: 'options by type',
  needs: 1,
  sql: `
    -- 1: it has failed and lets newer events of its entity pass (blocks: false). An older hookbox does not know this, and
    -- has them wait.
    ALTER TABLE hookbox_events ADD COLUMN yields INTEGER NOT NULL DEFAULT 0 CHECK (yields IN (0, 1));
    CREATE INDEX hookbox_events_yielding ON hookbox_events (entity, endpoint, parked)
      WHERE yields = 1 AND state = 'pending';
    -- The trace context of the delivery that brought it, as W3C headers have it: traceparent, a space, tracestate.
    ALTER TABLE hookbox_events ADD COLUMN trace TEXT;
    -- Why a handler has let its event go by.
    ALTER TABLE hookbox_attempts ADD COLUMN skipped TEXT;
  `,
};
