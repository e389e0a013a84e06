import type { Migration } from './migration.ts';

export const pauses: Migration = {
  version: 10,
  name: 'acts by event, pauses',
  needs: 1,
  sql: (t) => `
    -- By which lines of the audit something was done to an event, and when. Acts of an older hookbox are not in it.
    CREATE TABLE ${t.event_acts} (
      seq   bigint NOT NULL,
      audit bigint NOT NULL,
      at_ms bigint NOT NULL,
      PRIMARY KEY (seq, audit)
    );
    -- Types of an endpoint that no processor takes until they are resumed. An older hookbox does not look here.
    CREATE TABLE ${t.pauses} (
      endpoint text COLLATE "C" NOT NULL,
      type     text COLLATE "C" NOT NULL,
      since_ms bigint NOT NULL,
      actor    text NOT NULL,
      reason   text,
      PRIMARY KEY (endpoint, type)
    );
  `,
};
