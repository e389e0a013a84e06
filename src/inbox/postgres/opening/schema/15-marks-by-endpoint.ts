import type { Migration } from './migration.ts';

export const marksByEndpoint: Migration = {
  version: 15,
  name: 'marks by endpoint',
  needs: 1,
  sql: (t) => `
    -- Where the process works that has a release: '*' for several endpoints, and for what an older hookbox notes.
    ALTER TABLE ${t.marks} ADD COLUMN endpoint text COLLATE "C" NOT NULL DEFAULT '*';
  `,
};
