import type { Migration } from './migration.ts';

export const marksByEndpoint: Migration = {
  version: 12,
  name: 'marks by endpoint',
  needs: 1,
  sql: `
    -- Where the process works that has a release: '*' for several endpoints, and for what an older hookbox notes.
    ALTER TABLE hookbox_marks ADD COLUMN endpoint TEXT NOT NULL DEFAULT '*';
  `,
};
