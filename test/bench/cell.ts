import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beginHandling, endHandling, type Handling } from './handling.ts';
import { runLoad, type Generator, type LoadResult } from './load/generator.ts';
import { disturbanceLimit, type Patience } from './patience.ts';
import { proveStored, proveVerifies } from './proof.ts';
import type { RequestPools } from './request-pool.ts';
import type { Row } from './rows.ts';
import { startServer } from './server-process.ts';

/** Above this share of a core it is the generator that is measured. */
const GENERATOR_LIMIT = 0.9;

/** How often a cell is measured, at most, until nothing else ran meanwhile. */
const ATTEMPTS = 3;

/** How many connections warm a server up, so that it is compiled whatever the measured number is. */
const WARM_UP_CONNECTIONS = 64;

/** One measurement: a row at a number of connections. */
export interface Cell {
  readonly row: string;
  readonly connections: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly share2xx: number;
  readonly socketErrors: number;
  readonly serverCpu: number | null;
  readonly generatorCpu: number | null;
  readonly othersCpu: number | null;
  /** How the events were handled, where the row handles them. */
  readonly handling: Handling | null;
  /** The generator was the limit, so the numbers say little about the server. */
  readonly void: boolean;
  /** Something else ran on the machine, however often it was tried. */
  readonly disturbed: boolean;
}

export interface CellSettings {
  readonly generator: Generator;
  readonly pools: RequestPools;
  readonly patience: Patience;
  readonly folder: string;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  /** How fast the measured load is; as fast as the server answers unless set. */
  readonly requestsPerSecond?: number;
  /** Puts a database file in place before the server opens it. */
  readonly prepareDatabase?: (file: string) => Promise<void>;
  /** Starts what works on the same file while the load is measured. */
  readonly beside?: (file: string) => Promise<AsyncDisposable>;
}

// More than any row answers here; a faster machine is noticed by an exhausted pool.
let poolPerSecond = 45_000;

/** What one load brought to light. */
interface CellResult extends LoadResult {
  readonly handling: Handling | null;
}

/** Measures a row on a fresh server with a fresh database file; again if something else ran on the machine. */
export async function measureCell(row: Row, connections: number, settings: CellSettings): Promise<Cell> {
  const { patience } = settings;
  let best: Cell | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    await patience.waitForQuiet();
    const startedAt = performance.now();
    const result = await loadUnexhausted(row, connections, settings);
    // What runs beside it on purpose is no disturbance.
    const cell = { ...cellOf(row, connections, result), ...(settings.beside && { disturbed: false }) };
    if (best === undefined || (cell.othersCpu ?? 0) < (best.othersCpu ?? 0)) best = cell;
    if (!best.disturbed) return best;
    patience.spend(performance.now() - startedAt);
    if (!patience.isLeft) return best;
  }
  if (best === undefined) throw new Error('A cell is measured at least once.');
  return best;
}

async function loadUnexhausted(row: Row, connections: number, settings: CellSettings): Promise<CellResult> {
  for (;;) {
    const result = await loadOnce(row, connections, settings);
    if (!result.exhausted) return result;
    poolPerSecond *= 2;
  }
}

async function loadOnce(row: Row, connections: number, settings: CellSettings): Promise<CellResult> {
  const { generator, pools, seconds, warmUpSeconds, requestsPerSecond } = settings;
  const warmUp = await pools.get(row.scheme, 'warm-up', warmUpSeconds * poolPerSecond);
  const measured = await pools.get(row.scheme, 'measured', seconds * poolPerSecond);
  const folder = await mkdtemp(join(settings.folder, 'cell-'));
  try {
    const databaseFile = join(folder, 'inbox.db');
    await settings.prepareDatabase?.(databaseFile);
    await using server = await startServer(row, databaseFile);
    await proveVerifies(row, server.port);
    const target = { port: server.port, serverPid: server.pid };
    await runLoad(generator, {
      ...target,
      connections: WARM_UP_CONNECTIONS,
      seconds: warmUpSeconds,
      file: warmUp.file,
    });
    await using meanwhile = new AsyncDisposableStack();
    meanwhile.use(await settings.beside?.(databaseFile));
    if (row.handles) await beginHandling(server);
    const result = await runLoad(generator, {
      ...target,
      connections,
      seconds,
      requestsPerSecond,
      file: measured.file,
    });
    const handling = row.handles ? await endHandling(server) : null;
    await proveStored(row, server.port, measured.sent);
    return { ...result, handling };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function cellOf(row: Row, connections: number, result: CellResult): Cell {
  return {
    row: row.name,
    connections,
    requestsPerSecond: result.requests / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    share2xx: result.requests === 0 ? 0 : 1 - result.non2xx / result.requests,
    socketErrors: result.socketErrors,
    serverCpu: result.serverCpu,
    generatorCpu: result.generatorCpu,
    othersCpu: result.othersCpu,
    handling: result.handling,
    void: result.generatorCpu !== null && result.generatorCpu > GENERATOR_LIMIT,
    disturbed: result.othersCpu !== null && result.othersCpu > disturbanceLimit,
  };
}
