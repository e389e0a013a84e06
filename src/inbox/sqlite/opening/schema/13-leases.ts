import type { Migration } from './migration.ts';

export const leases: Migration = {
  version: 13,
  name: 'leases',
  needs: 13,
  sql: `
    -- 1: a transaction of its handler was committed, and the end of the attempt was not: the handler has ended it by itself.
    ALTER TABLE hookbox_events ADD COLUMN effect INTEGER NOT NULL DEFAULT 0 CHECK (effect IN (0, 1));
    -- 1: its processor has said that it closes. Where the lease runs out then, the attempt was interrupted.
    ALTER TABLE hookbox_events ADD COLUMN closing INTEGER NOT NULL DEFAULT 0 CHECK (closing IN (0, 1));
  `,
};
