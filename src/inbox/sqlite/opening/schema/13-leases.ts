import type { Migration } from './migration.ts';

export const leases: Migration = {
  version: 13,
  name: 'leases',
  needs: 13,
  sql: `
    -- 1: a transaction of its handler was committed, and the end of the attempt was not: the handler has ended it by itself.
    ALTER TABLE hookbox_events ADD COLUMN effect INTEGER NOT NULL DEFAULT 0 CHECK (effect IN (0, 1));
  `,
};
