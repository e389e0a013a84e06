import type { Migration } from './migration.ts';

export const heardBulks: Migration = {
  version: 14,
  name: 'bulks that are heard of',
  needs: 1,
  sql: (t) => `
    -- When whoever runs a bulk was last heard of, after how many events, and whether that was to say that it stops. An older hookbox
    -- says nothing.
    ALTER TABLE ${t.bulks} ADD COLUMN heard_ms bigint;
    ALTER TABLE ${t.bulks} ADD COLUMN heard_worked integer;
    ALTER TABLE ${t.bulks} ADD COLUMN stopped boolean NOT NULL DEFAULT false;
  `,
};
