import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type * as direct from '../../helpers/postgres-url.ts';
import { PgBouncer } from '../../helpers/pgbouncer.ts';

/** What the suites are told of where Postgres is. */
const at = vi.hoisted(() => ({ url: '' }));
vi.mock('../../helpers/postgres-url.ts', () => ({ postgresUrl: async () => at.url }));
const { postgresUrl } = await vi.importActual<typeof direct>('../../helpers/postgres-url.ts');

/** Since 1.21 it may keep what clients prepare; all there were before do not, and it may be turned off. */
const poolers: readonly (readonly [string, readonly string[]])[] = PgBouncer.canPrepare()
  ? [
      ['that keeps no prepared statements', ['max_prepared_statements = 0']],
      ['that keeps prepared statements', ['max_prepared_statements = 100']],
    ]
  : [['that keeps no prepared statements', []]];

for (const [name, settings] of poolers) {
  describe(`through PgBouncer ${PgBouncer.version()} ${name}`, async () => {
    let bouncer: PgBouncer;
    beforeAll(async () => {
      bouncer = await PgBouncer.start(await postgresUrl(), settings);
      at.url = bouncer.url;
    });
    afterAll(() => bouncer[Symbol.asyncDispose]());

    // Each registers its cases again.
    vi.resetModules();
    await import('./postgres.test.ts');
    await import('./work-queue.test.ts');
    await import('./transaction.test.ts');
    await import('./acts.test.ts');
    await import('./audit.test.ts');
    await import('./several-machines.test.ts');
    await import('./inline.test.ts');

    it('everything went through it', async () => {
      expect(await bouncer.transactions()).toBeGreaterThan(1_000);
    });
  });
}
