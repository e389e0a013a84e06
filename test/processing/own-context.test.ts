import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { postgresInbox } from '../../src/inbox/postgres/postgres-inbox.ts';
import { sqliteInbox, type SqliteDatabase } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { RetryLaterError } from '../../src/errors.ts';
import type { HandlerContext } from '../../src/processing/handlers.ts';
import { createReceiver, type ReceiverOptions } from '../../src/receive/receiver.ts';
import { rerunEvents } from '../../src/ops/act-on-events.ts';
import { dropSchema, postgresUrl, schemaName, scratchPool } from '../helpers/postgres.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { SECRET, signedEvent, type SignedEvent } from '../helpers/signed-event.ts';
import { schemaBy } from '../helpers/own-events.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { signBody } from '../../src/signing/signature.ts';

const context = new AsyncLocalStorage<string>();
const left = new AsyncLocalStorage<string>();
const here = (): string => context.getStore() ?? 'none';

const NAMES = ['in memory', 'in a file', 'in a file, without threads', 'on Postgres', 'on a pool'] as const;
const ON_POSTGRES: ReadonlySet<string> = new Set(['on Postgres', 'on a pool']);

async function open(name: (typeof NAMES)[number]): Promise<Inbox> {
  if (name === 'in memory') return memoryInbox();
  if (name === 'in a file') return sqliteInbox(scratchFile());
  if (name === 'in a file, without threads') return sqliteInbox(scratchFile(), { thread: false });
  const schema = schemaName();
  const cleaning = await scratchPool();
  onTestFinished(() => dropSchema(cleaning, schema));
  const inbox: unknown = postgresInbox(name === 'on Postgres' ? await postgresUrl() : { pool: cleaning }, { schema });
  return inbox as Inbox; // of clients of pg: see transact
}

async function shop(name: (typeof NAMES)[number], options: Partial<ReceiverOptions>) {
  const inbox = await context.run('the inbox', () => open(name));
  const seen = new Map<string, Set<string>>();
  const see = (what: string): void => {
    seen.set(what, (seen.get(what) ?? new Set()).add(here()));
  };
  const say = (_: unknown, message: string): void => see(`log: ${message}`);
  const logger = { info: say, warn: say, error: say };
  const create = () => createReceiver({ secret: SECRET, inbox, logger, ...options });
  const receiver = context.run('its creation', create);
  onTestFinished(async () => {
    await context.run('its end', () => receiver.close());
    await inbox.close();
  });
  const deliver = (request: string, { body }: Pick<SignedEvent, 'body'>) =>
    context.run(request, () => receiver.receive({ body, signature: signBody(body, SECRET) }));
  return { inbox, receiver, seen, see, deliver };
}

type Shop = Awaited<ReturnType<typeof shop>>;

async function transact(name: string, ctx: HandlerContext, see: Shop['see']): Promise<void> {
  if (name === 'in memory') return;
  await ctx.transaction((database: unknown) => {
    if (ON_POSTGRES.has(name)) return transactOn(database as PoolClient, see) as unknown as void;
    (database as SqliteDatabase).prepare('SELECT 1').get();
    see('transaction');
  });
}

async function transactOn(client: PoolClient, see: Shop['see']): Promise<void> {
  see('transaction');
  await client.query('SELECT 1');
  see('transaction, after a query');
  await new Promise((resolve) => {
    client.query('SELECT 1', () => {
      see('transaction, in a callback');
      resolve(null);
    });
  });
}

describe.each(NAMES)('an inbox %s', (name) => {
  it('runs handlers, schemas, hooks and log lines in the context of start()', async () => {
    let failures = 0;
    let here: Shop;
    const ended: string[] = [];
    const all = await shop(name, {
      events: {
        'order.created': schemaBy(async (value) => {
          here.see('schema');
          return { value };
        }),
      },
      processing: { retry: { baseMs: 1, maxMs: 5 }, timeoutMs: 5_000 },
      handlers: {
        async 'order.created'(event, ctx) {
          here.see('handler');
          expect(left.getStore()).toBeUndefined();
          left.enterWith('of another handler');
          ctx.log.info('from the handler');
          await delay(2);
          here.see('handler, after a while');
          if (failures++ < 3) throw failures === 1 ? new RetryLaterError({ afterMs: 3 }) : new Error('fails');
          await transact(name, ctx, here.see);
          ended.push(event.id);
        },
      },
      onFailed: () => here.see('onFailed'),
    });
    here = all;
    await context.run('start', () => all.receiver.start());
    const events = Array.from({ length: 12 }, (_, at) =>
      signedEvent({ data: { object: 'order', id: `ord_${at % 3}` } }),
    );
    await Promise.all(events.slice(0, 6).map((event, at) => all.deliver(`request ${at}`, event)));
    await delay(30);
    await Promise.all(events.slice(6).map((event, at) => all.deliver(`request ${at + 6}`, event)));
    await expect.poll(() => ended.length).toBe(12);
    expect(all.seen.size).toBeGreaterThan(5);
    for (const [what, contexts] of all.seen) expect([what, ...contexts]).toEqual([what, 'start']);
  });

  it('tells a handler that it is to stop in the context of its own', async () => {
    let here: Shop;
    const { promise: running, resolve: runs } = Promise.withResolvers<void>();
    const all = await shop(name, {
      handlers: {
        '*': (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              here.see('signal');
              resolve(null);
            });
            runs();
          }),
      },
      processing: { timeoutMs: 20 },
      onFailed: () => here.see('onFailed'),
    });
    here = all;
    await context.run('start', () => all.receiver.start());
    await all.deliver('request', signedEvent());
    await running;
    await expect.poll(() => all.seen.get('onFailed')?.size).toBe(1);
    await context.run('its end', () => all.receiver.close());
    for (const [what, contexts] of all.seen) expect([what, ...contexts]).toEqual([what, 'start']);
  });

  it('runs inline handlers, their hooks and lines in the context of their delivery', async () => {
    let here: Shop;
    const all = await shop(name, {
      processing: { mode: 'inline' },
      handlers: {
        async '*'({ id }, ctx) {
          here.see(`${id}: handler`);
          ctx.log.info(`${id}: line`);
          await delay(1);
          await transact(name, ctx, (what) => here.see(`${id}: ${what}`));
          if (name === 'in memory') throw new Error('fails');
        },
      },
      onFailed: ({ id }) => here.see(`${id}: hook`),
    });
    here = all;
    const events = Array.from({ length: 6 }, (_, at) => signedEvent({ data: { object: 'order', id: `ord_${at}` } }));
    await Promise.all(events.map((event) => all.deliver(event.id, event)));
    for (const { id } of events) {
      const own = [...all.seen].filter(([what]) => what.includes(id));
      expect(own.length).toBeGreaterThan(2);
      for (const [what, contexts] of own) expect([what, ...contexts]).toEqual([what, id]);
    }
  });
});

describe('what serves every delivery', () => {
  it('asks for the secret in the context in which the receiver was created', async () => {
    const asked: string[] = [];
    const secret = async (): Promise<string> => {
      asked.push(here());
      await delay(1);
      asked.push(here());
      return 'another secret, or the secret of a moment later';
    };
    const { deliver } = await shop('in memory', { secret });
    await vi.waitFor(() => expect(asked).toHaveLength(2));
    const now = vi.spyOn(performance, 'now').mockImplementation(() => 10 ** 9);
    onTestFinished(() => now.mockRestore());
    await deliver('request', signedEvent());
    expect(asked).toEqual(Array(4).fill('its creation'));
  });

  it.each(NAMES)('calls the rule for the entity in the context of whoever reruns, with an inbox %s', async (name) => {
    const { inbox, see, seen } = await shop(name, {});
    if (inbox.operations === undefined) return expect(name).toBe('in memory');
    const ids = ['evt_1', 'evt_2'];
    const invalid = { type: null, created: null, entity: null, valid: false };
    await store(inbox, ...ids.map((id) => ({ ...orderEvent(id), ...invalid })));
    const entity = (): null => {
      see('entity');
      return null;
    };
    const act = (id: string) => rerunEvents(inbox, [{ endpoint: 'default', id }], { actor: id }, { entity });
    const reports = await Promise.all(ids.map((id) => context.run(id, () => act(id))));
    expect(reports.map(({ counts }) => counts)).toEqual([{ done: 1 }, { done: 1 }]);
    expect([...(seen.get('entity') ?? [])].toSorted()).toEqual(ids);
  });
});
