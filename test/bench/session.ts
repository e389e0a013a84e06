import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { startLoad, type LoadMeasurement } from './load/generator.ts';
import type { DeliveryPool } from './load/request-pool.ts';
import { warmUp } from './load/warm-up.ts';
import { proveStored, proveVerifies } from './proof.ts';
import type { Row } from './rows.ts';
import { startServer, type LoopDelay, type ServerProcess } from './server-process.ts';

/** The number of connections that the goals speak of, and that warm a server up. */
export const goalConnections = 64;

/** What is not watched at both ends of a load, in milliseconds. */
const EDGE_MS = 100;
const ANSWERED_TIMES = 10;
const UNRELATED = { connections: 8, requestsPerSecond: 500 };

/** What one load brought to light; shares of one core are `null` where the system does not tell. */
export interface LoadFigures extends LoadMeasurement {
  readonly requestsPerSecond: number;
  readonly loopDelay: LoopDelay;
  readonly serverCpu: number | null;
  readonly generatorCpu: number | null;
  readonly othersCpu: number | null;
}

export interface DeliveryLoad {
  readonly connections?: number;
  readonly seconds?: number;
  /** over all connections; as many as are answered unless set */
  readonly requestsPerSecond?: number;
}

/** A server that was proven and warmed up, for as many loads as a table needs. */
export interface Session {
  readonly server: ServerProcess;
  readonly databaseFile: string;
  load(load?: DeliveryLoad): Promise<LoadFigures>;
  /** Asks for a route of the same server that has nothing to do with deliveries. */
  unrelated(seconds: number): Promise<LoadMeasurement>;
}

export interface SessionOptions {
  /** Gives the database file that the server opens, perhaps filled; the one it is told is free. */
  readonly database?: (free: string) => Promise<string>;
  /** The file is used more than once, so ids must never come again. */
  readonly sameFile?: boolean;
  /** Starts the server with this in its environment. */
  readonly env?: NodeJS.ProcessEnv;
}

class PoolExhausted extends Error {}

/** Measures on a fresh server; again with larger pools of requests where a server is faster than was thought. */
export async function withSession<T>(
  row: Row,
  bench: Bench,
  options: SessionOptions,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await once(row, bench, options, work);
    } catch (error) {
      if (!(error instanceof PoolExhausted)) throw error;
      bench.pools.grow();
    }
  }
}

async function once<T>(
  row: Row,
  bench: Bench,
  { database, sameFile = false, env = {} }: SessionOptions,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { generator, pools, disturbance, options } = bench;
  if (sameFile) pools.forget();
  const poolFor = (purpose: string, seconds: number, requestsPerSecond?: number): Promise<DeliveryPool> =>
    row.stores ? pools.once(row.scheme, purpose, seconds, requestsPerSecond) : pools.again(row.scheme);
  const folder = await mkdtemp(join(bench.folder, 'session-'));
  try {
    const free = join(folder, 'inbox.db');
    const databaseFile = (await database?.(free)) ?? free;
    const forWarmUp = await poolFor('warm-up', options.warmUpLimit);
    await using server = await startServer(row, databaseFile, env);
    const { port } = server;
    await proveVerifies(row, port);
    const warm = await warmUp(
      generator,
      { port, connections: goalConnections, seconds: options.warmUpLimit, pool: forWarmUp },
      options.warmUpSeconds,
    );
    if (warm.exhausted) throw new PoolExhausted();
    if (!warm.steady) bench.progress(`  ${row.name} was not steady after ${options.warmUpLimit} s`);

    let loads = 0;
    return await work({
      server,
      databaseFile,
      async load({ connections = goalConnections, seconds = options.seconds, requestsPerSecond } = {}) {
        loads += 1;
        const pool = await poolFor(`load-${loads}`, seconds, requestsPerSecond);
        const running = await startLoad(generator, { port, connections, seconds, requestsPerSecond, pool });
        await delay(EDGE_MS);
        const [shares, loopDelay] = await server.loopDelayDuring(() =>
          disturbance.watch([running.pid, server.pid], delay(seconds * 1000 - 2 * EDGE_MS)),
        );
        const measured = await running.ended;
        if (measured.exhausted) throw new PoolExhausted();
        // What was sent first was answered, unless this machine can hardly answer at all.
        if (measured.requests > ANSWERED_TIMES * connections) await proveStored(row, port, pool.sent);
        const [generatorCpu = null, serverCpu = null] = shares?.of ?? [];
        return {
          ...measured,
          requestsPerSecond: measured.requests / measured.seconds,
          loopDelay,
          serverCpu,
          generatorCpu,
          othersCpu: shares?.others ?? null,
        };
      },
      async unrelated(seconds) {
        const pool = await pools.unrelated();
        const running = await startLoad(generator, { port, seconds, pool, ...UNRELATED });
        await disturbance.watch([], running.ended);
        return running.ended;
      },
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
