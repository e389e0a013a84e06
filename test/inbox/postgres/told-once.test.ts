/** Each crash and death is reported once, when it is durable. */
import { Pool, type PoolClient } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { inboxOnPostgres } from '../../../src/inbox/postgres/inbox-on-postgres.ts';
import { EVERYTHING, type CrashedEvent } from '../../../src/inbox/work.ts';
import type { DeadFacts } from '../../../src/processing/attempt-hooks.ts';
import { createProcessor } from '../../../src/processing/processor.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { dropSchema, emptySchema, postgresUrl, schemaName, SETTINGS } from '../../helpers/postgres.ts';
import { START } from '../../helpers/virtual-clock.ts';
import { interferedPool, type Interference } from './pools.ts';

const schema = schemaName();
const REQUEST = { ...EVERYTHING, leaseMs: 1_000, ordered: true } as const;
const clients: PoolClient[] = [];
let pool: Pool;
let interfere: (text: string) => Interference = () => null;

beforeAll(async () => {
  pool = new Pool({ connectionString: await postgresUrl() });
  pool.on('connect', (client) => clients.push(client));
  await using inbox = open();
  await inbox.list();
});
afterAll(async () => {
  await dropSchema(pool, schema);
  await pool.end();
});
beforeEach(async () => {
  interfere = () => null;
  await emptySchema(pool, schema);
});

const open = () =>
  inboxOnPostgres<PoolClient>({ pool: interferedPool(pool, (text) => interfere(text)) }, { ...SETTINGS, schema });

const processOf = (client: PoolClient): unknown => Reflect.get(client, 'processID');

/** These COMMITs succeed without an answer. */
function loseCommits(count: number): void {
  let left = count;
  interfere = (text) => (text === 'COMMIT' && (left -= 1) >= 0 ? 'unanswered' : null);
}

it.each([
  [1, 0],
  [2, 0],
  [3, 1],
  [6, 2],
])('of a claim whose COMMIT was not answered %i times a crash is told once', async (lost, failures) => {
  await using inbox = open();
  await inbox.accept(incoming({ receivedAt: START }), later());
  await inbox.claim({ ...REQUEST, now: START }, 1);
  const told: CrashedEvent[] = [];
  const tell = (crashed: readonly CrashedEvent[]) => void told.push(...crashed);
  loseCommits(lost);
  // Its endpoint has no events, so the claim finds its earlier ones.
  const other = { ...REQUEST, endpoints: ['elsewhere'], now: START + 2_000 };
  for (let n = 0; n < failures; n += 1) {
    await expect(inbox.claim(other, 1, tell)).rejects.toMatchObject({ code: 'FAILED' });
  }
  for (let n = 0; n < 3; n += 1) await inbox.claim(other, 1, tell);
  const about = { endpoint: 'default', id: 'evt_1', type: 'order.created', error: null };
  expect(told).toEqual([{ ...about, attempt: 1, deadReason: null, dueAt: START + 2_000 }]);
});

it('a function that commits by itself, on a database that goes away then, is told dead once it is back', async () => {
  const told: DeadFacts[] = [];
  const states: unknown[] = [];
  const found: CrashedEvent[] = [];
  await using inbox = open();
  await using other = open();
  let isBegun = false;
  const processor = createProcessor({
    inbox,
    logger: false,
    handlers: {
      '*': (_, context) =>
        context.transaction(async (client: PoolClient) => {
          // The lent client would not send it.
          const behind = clients.find((one) => processOf(one) === processOf(client));
          await behind?.query('COMMIT');
          interfere = (text) => (text.startsWith('SELECT pg_current_xact_id') ? null : 'lost');
          isBegun = true;
        }),
    },
    onDead: async (facts) => {
      told.push(facts);
      states.push((await inbox.get(facts))?.state);
    },
  });
  const event = orderEvent('evt_1');
  await inbox.accept(event, later());
  await processor.start();
  await vi.waitFor(() => expect(isBegun).toBe(true), { timeout: 20_000 });
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(told).toEqual([]);
  interfere = () => null;
  await vi.waitFor(() => expect(states).toEqual(['dead']), { timeout: 20_000 });
  await other.claim({ ...REQUEST, now: Date.now() + 3_600_000 }, 1, (crashed) => void found.push(...crashed));
  expect(found).toEqual([]);
  await processor.close();
  expect(told).toMatchObject([{ id: 'evt_1', reason: 'failed', error: { name: 'TransactionError' } }]);
});
