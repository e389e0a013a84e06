import type { Migration } from './migration.ts';

export const audit: Migration = {
  version: 2,
  name: 'acts of operators and their audit',
  needs: 1,
  sql: (t) => `
    ALTER TABLE ${t.events} ADD COLUMN erased_ms bigint;

    CREATE TABLE ${t.audit} (
      seq    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at_ms  bigint NOT NULL,
      actor  text NOT NULL,
      via    text COLLATE "C" NOT NULL CHECK (via IN ('code', 'cli', 'page')),
      act    text NOT NULL,
      reason text,
      -- JSON, as text: jsonb has no U+0000
      filter text NOT NULL,
      counts text NOT NULL
    );
  `,
};
