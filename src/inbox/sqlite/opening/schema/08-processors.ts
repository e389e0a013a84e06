import type { Migration } from './migration.ts';

export const processors: Migration = {
  version: 8,
  name: 'processors',
  needs: 1,
  sql: `
    -- Each processor that runs, with what it handles as JSON; whoever is not seen for ten minutes is gone, and so is its row.
    CREATE TABLE hookbox_processors (
      name       TEXT    PRIMARY KEY,
      endpoints  TEXT    NOT NULL CHECK (json_valid(endpoints)),
      types      TEXT    NOT NULL CHECK (json_valid(types)),
      started_ms INTEGER NOT NULL,
      seen_ms    INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
  `,
};
