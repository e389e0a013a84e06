import type { Migration } from './migration.ts';

export const clock: Migration = {
  version: 5,
  name: 'clock',
  needs: 1,
  sql: `
    -- The latest time at which a lease or a due time was written, to see when the clock is set back (../set-back.ts); and,
    -- while pending events are moved back by back_ms, how far that has got: first those that are parked, up to seq; then
    -- those of each endpoint, up to (due_ms, seq).
    CREATE TABLE hookbox_clock (
      id        INTEGER PRIMARY KEY CHECK (id = 1),
      latest_ms INTEGER NOT NULL,
      back_ms   INTEGER CHECK (back_ms > 0),
      endpoint  TEXT,
      due_ms    INTEGER NOT NULL DEFAULT 0,
      seq       INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO hookbox_clock (id, latest_ms) VALUES (1, 0);
  `,
};
