import type { Migration } from './migration.ts';

export const pauses: Migration = {
  version: 10,
  name: 'acts by event, pauses',
  needs: 1,
  sql: `
    -- By which lines of the audit something was done to an event, and when. Acts of an older hookbox are not in it.
    CREATE TABLE hookbox_event_acts (
      seq   INTEGER NOT NULL,
      audit INTEGER NOT NULL REFERENCES hookbox_audit (seq),
      at_ms INTEGER NOT NULL,
      PRIMARY KEY (seq, audit)
    ) STRICT, WITHOUT ROWID;
    -- Types of an endpoint that no processor takes until they are resumed. An older hookbox does not look here.
    CREATE TABLE hookbox_pauses (
      endpoint TEXT    NOT NULL,
      type     TEXT    NOT NULL,
      since_ms INTEGER NOT NULL,
      actor    TEXT    NOT NULL,
      reason   TEXT,
      PRIMARY KEY (endpoint, type)
    ) STRICT, WITHOUT ROWID;
  `,
};
