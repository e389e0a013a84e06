import type { Migration } from './migration.ts';

export const cleared: Migration = {
  version: 13,
  name: 'what was erased in whole',
  needs: 1,
  sql: (t) => `
    -- An older hookbox that erases an event leaves what step 7 has added: what is to be looked at for that.
    ALTER TABLE ${t.events} ADD COLUMN cleared boolean NOT NULL DEFAULT false;
    CREATE INDEX events_uncleared ON ${t.events} (seq) WHERE body IS NULL AND NOT cleared AND erased_ms IS NOT NULL;
  `,
};
