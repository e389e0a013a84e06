import type { Migration } from './migration.ts';

export const marks: Migration = {
  version: 9,
  name: 'marks of releases and secrets',
  needs: 1,
  sql: (t) => `
    -- When a release was first seen or came back, and when a new secret of an endpoint began; nothing of a secret itself.
    CREATE TABLE ${t.marks} (
      seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      kind     text COLLATE "C" NOT NULL,
      name     text COLLATE "C" NOT NULL,
      at_ms    bigint NOT NULL,
      -- when a process has last said so, and when one of them has ended and none has spoken since
      seen_ms  bigint NOT NULL,
      ended_ms bigint
    );
    CREATE INDEX marks_in_time ON ${t.marks} (at_ms, seq);
    CREATE INDEX marks_of_kind ON ${t.marks} (kind, at_ms, seq);
    CREATE INDEX marks_of_name ON ${t.marks} (kind, name, at_ms, seq);
  `,
};
