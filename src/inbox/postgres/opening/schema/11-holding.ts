import type { Migration } from './migration.ts';

// This step and those that follow have one table each, that others write to: who migrates must not have one while it waits for
// the next, which somebody has who waits for the first.
export const holding: Migration = {
  version: 11,
  name: 'what holds others back',
  needs: 1,
  sql: (t) => `
    -- Where the front of an entity is looked for: what yields holds nobody back, however much of it there is. Of no statement
    -- but one that asks for it in these words, as others have an index of their own.
    CREATE INDEX queue_holding ON ${t.queue} (entity, endpoint, (created_ms + 0), created_ns, seq)
      WHERE lease_until_ms IS NULL AND entity IS NOT NULL AND NOT yields;
  `,
};
