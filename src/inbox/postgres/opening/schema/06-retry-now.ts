import type { Migration } from './migration.ts';

export const retryNow: Migration = {
  version: 6,
  name: 'bulk actions that retry now',
  needs: 1,
  sql: (t) => `
    -- What a bulk is, where that is none of the two that its act may say: an older hookbox takes it for a rerun, which leaves
    -- pending events alone.
    ALTER TABLE ${t.bulks} ADD COLUMN does text COLLATE "C";
  `,
};
