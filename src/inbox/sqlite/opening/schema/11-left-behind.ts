import type { Migration } from './migration.ts';

export const leftBehind: Migration = {
  version: 11,
  name: 'what processes leave behind',
  needs: 1,
  sql: `
    -- Where the front of an entity is looked for: what yields holds nobody back, however much of it there is.
    CREATE INDEX hookbox_events_holding ON hookbox_events (entity, endpoint, created_ms, created_ns, seq)
      WHERE state = 'pending' AND parked < 2 AND entity IS NOT NULL AND yields = 0;
    -- The number of the claim that has found it crashed: where its answer is lost, the next one tells of it.
    ALTER TABLE hookbox_attempts ADD COLUMN found_by INTEGER;
    CREATE INDEX hookbox_attempts_found ON hookbox_attempts (found_by) WHERE found_by IS NOT NULL;
    -- An older hookbox that erases an event leaves what step 7 has added: what is to be looked at for that.
    ALTER TABLE hookbox_events ADD COLUMN cleared INTEGER NOT NULL DEFAULT 0 CHECK (cleared IN (0, 1));
    CREATE INDEX hookbox_events_uncleared ON hookbox_events (seq)
      WHERE body IS NULL AND cleared = 0 AND erased_ms IS NOT NULL;
    -- When whoever runs a bulk was last heard of, after how many events, and whether that was to say that it stops. An older hookbox
    -- says nothing.
    ALTER TABLE hookbox_bulks ADD COLUMN heard_ms INTEGER;
    ALTER TABLE hookbox_bulks ADD COLUMN heard_worked INTEGER;
    ALTER TABLE hookbox_bulks ADD COLUMN stopped INTEGER NOT NULL DEFAULT 0 CHECK (stopped IN (0, 1));
  `,
};
