import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { installedVersion } from '../installed-version.ts';
import type { RequestPool } from './request-pool.ts';

/** What a generator saw of one load. */
export type LoadMeasurement = z.infer<typeof loadMeasurement>;

const loadMeasurement = z.object({
  requests: z.number(),
  seconds: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  non2xx: z.number(),
  socketErrors: z.number(),
  /** The pool ran out before the time did: rates are not to be trusted, measure again with more requests. */
  exhausted: z.boolean(),
});

export interface Load {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  readonly pool: RequestPool;
  /** Requests per second over all connections; as many as are answered unless set. */
  readonly requestsPerSecond?: number | undefined;
}

/** A load that is under way, in a process of its own. */
export interface RunningLoad {
  readonly pid: number;
  readonly ended: Promise<LoadMeasurement>;
  stop(): void;
}

/** What makes the load: wrk, which is C and costs the least, where it is installed; autocannon elsewhere. */
export interface Generator {
  readonly name: 'wrk' | 'autocannon';
  readonly version: string;
}

export function findGenerator(wanted?: string): Generator {
  // `wrk -v` prints its version and exits with 1.
  const banner = spawnSync('wrk', ['-v'], { encoding: 'utf8' });
  if (banner.error === undefined && wanted !== 'autocannon') {
    return { name: 'wrk', version: /^wrk (\S+)/.exec(banner.stdout)?.[1] ?? 'unknown' };
  }
  if (wanted === 'wrk') throw new Error('wrk is not installed; leave --generator out to use autocannon.');
  return { name: 'autocannon', version: installedVersion('autocannon') };
}

/**
 * Starts a load, and resolves when its requests are in memory and it begins: CPU time before that is not part of it.
 *
 * @param onSecond - is told about once a second how many requests were sent by when, in seconds
 */
export async function startLoad(
  generator: Generator,
  load: Load,
  onSecond: (sent: number, at: number) => void = () => {},
): Promise<RunningLoad> {
  const { command, args } = commandLine(generator, load);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  const output = text(child.stdout);
  const complaints: string[] = [];
  const begun = Promise.withResolvers<void>();
  createInterface(child.stderr).on('line', (line) => {
    const [word, sent, at] = line.split(' ');
    if (word === 'loaded') begun.resolve();
    else if (word === 'sent') onSecond(Number(sent), Number(at));
    else complaints.push(line);
  });
  const ended = exited.then(async ([code]) => {
    const line = (await output).trimEnd().split('\n').at(-1) ?? '';
    if (code !== 0 || !line.startsWith('{')) {
      throw new Error(`${generator.name} ended with ${String(code)}: ${complaints.join(' ')} ${await output}`);
    }
    return loadMeasurement.parse(JSON.parse(line));
  });
  await Promise.race([begun.promise, ended]);
  if (child.pid === undefined) throw new Error(`${generator.name} was not started.`);
  return { pid: child.pid, ended, stop: () => void child.kill('SIGINT') };
}

function commandLine(generator: Generator, load: Load): { command: string; args: string[] } {
  const url = `http://127.0.0.1:${load.port}/`;
  const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const connections = String(load.connections);
  const pool = [load.pool.file, load.pool.again ? 'again' : 'once'];
  const pace = load.requestsPerSecond === undefined ? [] : [String(load.requestsPerSecond)];
  if (generator.name === 'autocannon') {
    return {
      command: process.execPath,
      args: [script('autocannon.ts'), url, connections, String(load.seconds), ...pool, ...pace],
    };
  }
  const args = ['-t1', '-c', connections, '-d', `${load.seconds}s`, '--timeout', '10s', '-s', script('wrk.lua')];
  return { command: 'wrk', args: [...args, url, '--', ...pool, ...pace.flatMap((rate) => [rate, connections])] };
}
