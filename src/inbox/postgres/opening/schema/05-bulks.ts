import type { Migration } from './migration.ts';

export const bulks: Migration = {
  version: 5,
  name: 'bulk actions, pruning by criteria, imports',
  needs: 1,
  sql: (t) => `
    CREATE TABLE ${t.bulks} (
      id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      act        text COLLATE "C" NOT NULL CHECK (act IN ('rerun', 'discard')),
      state      text COLLATE "C" NOT NULL CHECK (state IN ('filling', 'previewed', 'running', 'done', 'cancelled')),
      force      boolean NOT NULL,
      -- JSON, as text: jsonb has no U+0000
      filter     text NOT NULL,
      actor      text NOT NULL,
      reason     text,
      created_ms bigint NOT NULL,
      started_ms bigint,
      ended_ms   bigint,
      total      integer NOT NULL DEFAULT 0,
      breakdown  text NOT NULL DEFAULT '{}',
      worked     integer NOT NULL DEFAULT 0,
      -- up to this event all have a result
      reached    bigint NOT NULL DEFAULT 0,
      counts     text NOT NULL DEFAULT '{}',
      audit      bigint
    );
    -- What a bulk is about, and what came of each.
    CREATE TABLE ${t.bulk_events} (
      bulk   bigint NOT NULL,
      seq    bigint NOT NULL,
      result text COLLATE "C",
      PRIMARY KEY (bulk, seq)
    );
    CREATE INDEX bulk_events_open ON ${t.bulk_events} (bulk, seq) WHERE result IS NULL;

    CREATE INDEX shelf_prunable ON ${t.shelf} (state, endpoint, settled_ms, seq) WHERE NOT pruned;

    -- Events that were processed elsewhere: of these the attempts do not say everything, or there are none.
    CREATE TABLE ${t.imported} (
      seq        bigint PRIMARY KEY,
      endpoint   text COLLATE "C" NOT NULL,
      settled_ms bigint NOT NULL,
      due_ms     bigint NOT NULL,
      attempts   integer NOT NULL,
      failures   integer NOT NULL,
      crashes    integer NOT NULL,
      trigger    text COLLATE "C" NOT NULL CHECK (trigger IN ('auto', 'manual')),
      -- its body is still there
      prunable   boolean NOT NULL
    );
    CREATE INDEX imported_prunable ON ${t.imported} (endpoint, settled_ms, seq) WHERE prunable;
  `,
};
