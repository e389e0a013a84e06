import type { Migration } from './migration.ts';

export const foundCrashes: Migration = {
  version: 12,
  name: 'who has found a crash',
  needs: 1,
  sql: (t) => `
    -- The number of the claim that has found it crashed: where its answer is lost, the next one tells of it.
    ALTER TABLE ${t.attempts} ADD COLUMN found_by bigint;
    CREATE INDEX attempts_found ON ${t.attempts} (found_by) WHERE found_by IS NOT NULL;
  `,
};
