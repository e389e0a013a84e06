import { randomUUID } from 'node:crypto';
import { makeWorkerUtils, run, Logger } from 'graphile-worker';
import { createProcessor } from 'hookbox';
import { postgresInbox } from 'hookbox/postgres';
import { Pool, type PoolClient } from 'pg';
import { PgBoss } from 'pg-boss';
import { logger } from '../servers/shared/quiet-logger.ts';
import { orderEvent } from '../load/order-event.ts';
import { arriving } from './callers.ts';

/** Takes jobs in and runs them, in this process. */
export interface JobQueue {
  /** Resolves when so many jobs, each of which does nothing, are durable. `caller` asks for one after the other. */
  add(count: number, caller: number): Promise<unknown>;
  close(): Promise<unknown>;
}

export type QueueName = 'hookbox' | 'hookbox-transaction' | 'pg-boss' | 'graphile-worker';

/** Each as its own documentation says that it is fast; the table says how (jobs-table.ts). */
export const queues: Record<QueueName, (url: string, ran: (jobs: number) => void) => Promise<JobQueue>> = {
  async hookbox(url, ran) {
    const inbox = postgresInbox(url);
    const processing = { concurrency: 100 };
    const processor = createProcessor({ inbox, handlers: { '*': () => ran(1) }, processing, logger: complaining });
    await processor.start();
    return { ...stored(inbox), close: () => processor.close().then(() => inbox.close()) };
  },
  async 'hookbox-transaction'(url, ran) {
    const pool = new Pool({ connectionString: url, max: 12 });
    await pool.query('CREATE TABLE shipments (id text PRIMARY KEY)');
    const inbox = postgresInbox<PoolClient>({ pool }, { listen: false });
    const processor = createProcessor<PoolClient>({
      inbox,
      handlers: {
        '*': async ({ id }, context) => {
          await context.transaction((client) =>
            client.query({ name: 'shipment', text: 'INSERT INTO shipments VALUES ($1)', values: [id] }),
          );
          ran(1);
        },
      },
      logger: complaining,
    });
    await processor.start();
    const close = async (): Promise<void> => {
      await processor.close();
      await inbox.close();
      await pool.end();
    };
    return { ...stored(inbox), close };
  },
  async 'pg-boss'(url, ran) {
    const boss = new PgBoss({ connectionString: url, max: 10, schedule: false });
    boss.on('error', complain);
    await boss.start();
    await boss.createQueue('jobs');
    const options = { batchSize: 500, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
    await boss.work('jobs', options, async (jobs) => ran(jobs.length));
    return {
      add: (count) =>
        count === 1
          ? boss.send('jobs', payload())
          : boss.insert(
              'jobs',
              several(count, () => ({ data: payload() })),
            ),
      close: () => boss.stop({ graceful: true }),
    };
  },
  async 'graphile-worker'(url, ran) {
    const worker = {
      connectionString: url,
      concurrentJobs: 24,
      maxPoolSize: 25,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    };
    const quiet = new Logger(() => (level, message) => {
      if (level === 'error' || level === 'warning') complain(message);
    });
    const runner = await run({ preset: { worker: { ...worker, logger: quiet } }, taskList: { job: () => ran(1) } });
    const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: 10, logger: quiet });
    return {
      add: (count) =>
        count === 1
          ? utils.addJob('job', payload())
          : utils.addJobs(several(count, () => ({ identifier: 'job', payload: payload() }))),
      async close() {
        await runner.stop();
        await utils.release();
      },
    };
  },
};

/** Some events of an order, one after the other, as a shop sends them. */
const EVENTS_OF_ORDER = 4;
const DEADLINE_MS = 30_000;

function stored({ accept }: Pick<ReturnType<typeof postgresInbox>, 'accept'>): Pick<JobQueue, 'add'> {
  const orders = new Map<number, { readonly order: string; events: number }>();
  return {
    async add(_, caller) {
      let current = orders.get(caller);
      if (current === undefined || current.events === EVENTS_OF_ORDER) current = { order: randomUUID(), events: 0 };
      orders.set(caller, current);
      current.events += 1;
      return accept(arriving(current.order, Date.now() + current.events), performance.now() + DEADLINE_MS);
    },
  };
}

function payload(): object {
  return JSON.parse(orderEvent().body) as object;
}

function several<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}

// A lost lease or a job that failed must not pass unseen; nor need each be told.
let complaints = 0;
const complain = (...said: readonly unknown[]): void => {
  complaints += 1;
  if (complaints > 3) return;
  const words = said.map((one) => (one instanceof Error ? one.message : JSON.stringify(one))).join(' ');
  process.stderr.write(`  ${words}\n`);
};
const complaining = { ...logger, warn: complain, error: complain };
