import type { Migration } from './migration.ts';

export const optionsByType: Migration = {
  version: 7,
  name: 'options by type',
  needs: 1,
  sql: (t) => `
    -- It has failed and lets newer events of its entity pass (blocks: false). An older hookbox does not know this, and has
    -- them wait.
    ALTER TABLE ${t.queue} ADD COLUMN yields boolean NOT NULL DEFAULT false;
    ALTER TABLE ${t.queue} ALTER COLUMN yields SET STATISTICS 0;
    CREATE INDEX queue_yielding ON ${t.queue} (entity, endpoint, seq) WHERE yields AND parked;
    -- The trace context of the delivery that brought it, as W3C headers have it: traceparent, a space, tracestate.
    ALTER TABLE ${t.events} ADD COLUMN trace text COLLATE "C";
    -- Why a handler has let its event go by.
    ALTER TABLE ${t.attempts} ADD COLUMN skipped text;
  `,
};
