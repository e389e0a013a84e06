// @module-tag longest
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { postgresInbox, type PostgresConnection } from '../../../src/inbox/postgres/postgres-inbox.ts';
import type { Handlers } from '../../../src/processing/handlers.ts';
import { createProcessor } from '../../../src/processing/processor.ts';
import { later } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { dropSchema, schemaName } from '../../helpers/postgres.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import type * as direct from '../../helpers/postgres-url.ts';
import { PgBouncer } from '../../helpers/pgbouncer.ts';

/** The suites read the URL of Postgres here. */
const at = vi.hoisted(() => ({ url: '' }));
vi.mock('../../helpers/postgres-url.ts', () => ({ postgresUrl: async () => at.url }));
const { postgresUrl } = await vi.importActual<typeof direct>('../../helpers/postgres-url.ts');

/** PgBouncer keeps prepared statements since 1.21, unless this is turned off. */
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

    // Each import registers the cases again.
    vi.resetModules();
    await import('./postgres.test.ts');
    await import('./work-queue.test.ts');
    await import('./transaction.test.ts');
    await import('./acts.test.ts');
    await import('./operators.test.ts');
    await import('./several-machines.test.ts');
    await import('./inline.test.ts');

    it('two machines that are given its URL handle each event once, also where they think they listen', async () => {
      const schema = schemaName();
      const pool = new Pool({ connectionString: await postgresUrl() });
      onTestFinished(async () => {
        await dropSchema(pool, schema);
        await pool.end();
      });
      await using one = postgresInbox(bouncer.url, { schema });
      await using other = postgresInbox(bouncer.url, { schema });
      await one.list();
      await pool.query(`CREATE TABLE ${schema}.effects_of_shop (id text NOT NULL)`);
      const effects = async (): Promise<readonly string[]> =>
        (await pool.query<{ id: string }>(`SELECT id FROM ${schema}.effects_of_shop`)).rows.map(({ id }) => id);
      const handlers: Handlers<PostgresConnection> = {
        '*': (event, ctx) =>
          ctx.transaction((client) =>
            client.query({ text: `INSERT INTO ${schema}.effects_of_shop VALUES ($1)`, values: [event.id] }),
          ),
      };
      const { logger, lines } = recordedLog();
      await using first = createProcessor({ inbox: one, logger, handlers });
      await using second = createProcessor({ inbox: other, logger, handlers });
      await Promise.all([first.start(), second.start()]);
      const ids = Array.from({ length: 200 }, (_, n) => `evt_${n}`);
      // For longer than a machine waits for its own notification.
      for (let n = 0; n < ids.length; n += 10) {
        const events = ids.slice(n, n + 10).map((id) => orderEvent(id, { order: id }));
        await Promise.all(events.map((event) => one.accept({ ...event, receivedAt: Date.now() }, later())));
        await delay(200);
      }
      await expect.poll(async () => (await effects()).length).toBe(ids.length);
      expect((await effects()).toSorted()).toEqual(ids.toSorted());
      expect(lines.filter(({ level }) => level !== 'info')).toEqual([]);
    });

    it('everything went through it', async () => {
      expect(await bouncer.transactions()).toBeGreaterThan(1_000);
    });
  });
}
