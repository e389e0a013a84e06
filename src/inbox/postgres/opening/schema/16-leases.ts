import type { Migration } from './migration.ts';

export const leases: Migration = {
  version: 16,
  name: 'leases',
  needs: 16,
  sql: (t) => `
    -- It is processed, as the transaction of its handler has committed: the row stays for the lease, until the handler has ended.
    ALTER TABLE ${t.queue} ADD COLUMN processed boolean NOT NULL DEFAULT false,
      ADD CONSTRAINT what_is_processed_is_leased CHECK (NOT processed OR lease_until_ms IS NOT NULL);
    -- Its processor has said that it closes. Where the lease runs out then, the attempt was interrupted.
    ALTER TABLE ${t.queue} ADD COLUMN closing boolean NOT NULL DEFAULT false;
  `,
};
