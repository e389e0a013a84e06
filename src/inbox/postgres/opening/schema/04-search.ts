import type { Migration } from './migration.ts';

export const search: Migration = {
  version: 4,
  name: 'what operators search',
  needs: 1,
  sql: (t) => `
    -- What events are about, as they are found by it; long terms are hashed (sql/keys.ts).
    CREATE TABLE ${t.terms} (
      term text COLLATE "C" NOT NULL,
      seq  bigint NOT NULL,
      PRIMARY KEY (term, seq)
    );
    -- How far something that goes through the events in their order has come.
    CREATE TABLE ${t.progress} (
      what text COLLATE "C" PRIMARY KEY,
      seq  bigint NOT NULL
    );
    -- It is there from the start, so that it can be locked.
    INSERT INTO ${t.progress} VALUES ('terms', 0);

    -- Of no statement but one that asks for it in these words, as what asks for less has indexes of its own.
    CREATE INDEX shelf_by_state ON ${t.shelf} ((state || ''), (seq + 0));
  `,
};
