import type { Migration } from './migration.ts';

export const processors: Migration = {
  version: 8,
  name: 'processors that run',
  needs: 1,
  sql: (t) => `
    -- Each processor that runs, with what it handles as JSON; whoever is not seen for ten minutes is gone, and so is its row.
    CREATE TABLE ${t.processors} (
      name       text COLLATE "C" PRIMARY KEY,
      endpoints  text COLLATE "C" NOT NULL,
      types      text COLLATE "C" NOT NULL,
      started_ms bigint NOT NULL,
      seen_ms    bigint NOT NULL
    );
  `,
};
