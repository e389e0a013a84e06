import type { Migration } from './migration.ts';

export const leftBehind: Migration = {
  version: 11,
  name: 'what processes leave behind',
  needs: 1,
  sql: (t) => `
    -- Where the front of an entity is looked for: what yields holds nobody back, however much of it there is. Of no statement
    -- but one that asks for it in these words, as others have an index of their own.
    CREATE INDEX queue_holding ON ${t.queue} (entity, endpoint, (created_ms + 0), created_ns, seq)
      WHERE lease_until_ms IS NULL AND entity IS NOT NULL AND NOT yields;
    -- The number of the claim that has found it crashed: where its answer is lost, the next one tells of it.
    ALTER TABLE ${t.attempts} ADD COLUMN found_by bigint;
    CREATE INDEX attempts_found ON ${t.attempts} (found_by) WHERE found_by IS NOT NULL;
    -- An older hookbox that erases an event leaves what step 7 has added: what is to be looked at for that.
    ALTER TABLE ${t.events} ADD COLUMN cleared boolean NOT NULL DEFAULT false;
    CREATE INDEX events_uncleared ON ${t.events} (seq) WHERE body IS NULL AND NOT cleared AND erased_ms IS NOT NULL;
    -- When whoever runs a bulk was last heard of, after how many events, and whether that was to say that it stops. An older hookbox
    -- says nothing.
    ALTER TABLE ${t.bulks} ADD COLUMN heard_ms bigint;
    ALTER TABLE ${t.bulks} ADD COLUMN heard_worked integer;
    ALTER TABLE ${t.bulks} ADD COLUMN stopped boolean NOT NULL DEFAULT false;
  `,
};
