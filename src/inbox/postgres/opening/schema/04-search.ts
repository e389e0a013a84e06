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
    -- Events that are not in it yet, a row for what was stored together: their numbers may come in any order.
    CREATE TABLE ${t.unindexed} (
      first bigint PRIMARY KEY,
      count integer NOT NULL,
      seqs  bigint[] NOT NULL
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
    INSERT INTO ${t.unindexed} (first, count, seqs)
      SELECT min(seq), count(*), array_agg(seq) FROM ${t.events} GROUP BY seq / 500;
    -- What something that goes through the tables has come to.
    CREATE TABLE ${t.progress} (
      what text COLLATE "C" PRIMARY KEY,
      seq  bigint NOT NULL
    );
    -- Who enters events into the index locks it, and who changes one.
    INSERT INTO ${t.progress} VALUES ('terms', 0);

    -- Of no statement but one that asks for it in these words, as what asks for less has indexes of its own.
    CREATE INDEX shelf_by_state ON ${t.shelf} ((state || ''), (seq + 0));
  `,
};
