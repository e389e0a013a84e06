import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { watchCpu, type CpuShares } from '../cpu-time.ts';
import { installedVersion } from '../installed-version.ts';

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

/** A load and what it cost, as shares of one core; `null` where the system does not tell. */
export interface LoadResult extends LoadMeasurement {
  readonly generatorCpu: number | null;
  readonly serverCpu: number | null;
  /** Everything else on the machine: the more, the less this load can be trusted. */
  readonly othersCpu: number | null;
}

export interface Load {
  readonly port: number;
  readonly serverPid: number;
  readonly connections: number;
  readonly seconds: number;
  readonly file: string;
  /** Requests per second over all connections; as many as are answered unless set. */
  readonly requestsPerSecond?: number | undefined;
}

/** What makes the load: wrk where it is installed, autocannon elsewhere. */
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

/** Runs one load in a process of its own and watches the CPU time of both sides while it lasts. */
export async function runLoad(generator: Generator, load: Load): Promise<LoadResult> {
  const { command, args } = commandLine(generator, load);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const output = text(child.stdout);
  const complaints = text(child.stderr);
  const exited = once(child, 'exit');
  // Its first word on stderr says that the requests are in memory; CPU time before that is not part of the load.
  await Promise.race([once(child.stderr, 'data'), exited]);
  const shares = child.pid === undefined ? null : await watchMiddle([child.pid, load.serverPid], load.seconds);
  const [code] = await exited;
  const line = (await output).trimEnd().split('\n').at(-1) ?? '';
  if (code !== 0 || !line.startsWith('{')) {
    throw new Error(`${generator.name} ended with ${String(code)}: ${(await complaints).trim()} ${await output}`);
  }
  const [generatorCpu = null, serverCpu = null] = shares?.of ?? [];
  const othersCpu = shares?.others ?? null;
  return { ...loadMeasurement.parse(JSON.parse(line)), generatorCpu, serverCpu, othersCpu };
}

function commandLine(generator: Generator, load: Load): { command: string; args: string[] } {
  const url = `http://127.0.0.1:${load.port}/webhooks`;
  const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
  const connections = String(load.connections);
  const pace = load.requestsPerSecond === undefined ? [] : [String(load.requestsPerSecond)];
  if (generator.name === 'autocannon') {
    const args = [script('autocannon.ts'), url, connections, String(load.seconds), load.file, ...pace];
    return { command: process.execPath, args };
  }
  const args = ['-t1', '-c', connections, '-d', `${load.seconds}s`, '--timeout', '10s', '-s', script('wrk.lua')];
  return { command: 'wrk', args: [...args, url, '--', load.file, ...pace.flatMap((rate) => [rate, connections])] };
}

/** Watches from 100 ms after the start of the load to 100 ms before its end. */
async function watchMiddle(pids: readonly number[], seconds: number): Promise<CpuShares | null> {
  await delay(100);
  return watchCpu(pids, delay(seconds * 1000 - 200));
}
