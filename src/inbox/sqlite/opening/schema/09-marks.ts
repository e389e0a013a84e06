import type { Migration } from './migration.ts';

export const marks: Migration = {
  version: 9,
  name: 'marks',
  needs: 1,
  sql: `
    -- When a release was first seen or came back, and when a new secret of an endpoint began; nothing of a secret itself.
    CREATE TABLE hookbox_marks (
      seq      INTEGER PRIMARY KEY,
      kind     TEXT    NOT NULL,
      name     TEXT    NOT NULL,
      at_ms    INTEGER NOT NULL,
      -- when a process has last said so, and when one of them has ended and none has spoken since
      seen_ms  INTEGER NOT NULL,
      ended_ms INTEGER
    ) STRICT;
    CREATE INDEX hookbox_marks_in_time ON hookbox_marks (at_ms);
    CREATE INDEX hookbox_marks_of_kind ON hookbox_marks (kind, at_ms);
    CREATE INDEX hookbox_marks_of_name ON hookbox_marks (kind, name, at_ms);
  `,
};
