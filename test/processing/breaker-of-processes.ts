import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { pausedTypes } from '../../src/ops/pauses.ts';
import { bundledScript } from '../helpers/bundled-script.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { BREAKER, PROBE_TIMES } from './broken-provider.ts';

const EVENTS = 40;
const PROCESSES = 4;
const PROBES = 8;

interface Run {
  readonly at: number;
  readonly pid: number;
  readonly provider: string;
}

/**
 * The provider of several processes is down, hangs while the prober is killed, and comes back.
 *
 * @param source - further arguments of broken-process.ts
 */
export async function probesOfProcesses(inbox: Inbox<never>, source: readonly string[]): Promise<void> {
  const folder = scratchFolder();
  const script = await bundledScript(new URL('broken-process.ts', import.meta.url));
  const become = (provider: string) => writeFileSync(join(folder, 'provider'), provider);
  const runs = (): readonly Run[] =>
    existsSync(join(folder, 'runs'))
      ? readFileSync(join(folder, 'runs'), 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as Run)
      : [];
  const closing = { timeout: 20_000, interval: 50 };
  become('down');
  await store(inbox, ...Array.from({ length: EVENTS }, (_, n) => orderEvent(`evt_${n}`)));
  const children = Array.from({ length: PROCESSES }, () => {
    const child = spawn(process.execPath, [script, folder, ...source], { stdio: ['pipe', 'inherit', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  });

  await expect.poll(() => runs().length, closing).toBeGreaterThanOrEqual(BREAKER.failures);
  await expect.poll(async () => (await pausedTypes(inbox)).length, closing).toBe(1);
  await delay(PROBE_TIMES.timeoutMs); // attempts that began before it opened
  const before = runs().length;
  await expect.poll(() => runs().length, closing).toBeGreaterThanOrEqual(before + PROBES);
  const probes = runs().slice(before);
  expect(Math.min(...gaps(probes))).toBeGreaterThanOrEqual(BREAKER.probeMs);

  become('hangs');
  await expect.poll(() => runs().at(-1)?.provider, closing).toBe('hangs');
  const hung = runs().at(-1);
  const prober = children.find(({ pid }) => pid === hung?.pid);
  prober?.kill('SIGKILL');
  become('down');
  const untilKill = runs().length;
  await expect.poll(() => runs().length, closing).toBeGreaterThanOrEqual(untilKill + 2);
  const [afterKill = 0] = gaps(runs().slice(untilKill - 1));
  // The prober may have begun somewhat after its claim.
  expect(afterKill).toBeGreaterThanOrEqual((PROBE_TIMES.timeoutMs + PROBE_TIMES.leaseMs) * 0.8);

  become('up');
  const states = async () => (await inbox.list({ limit: EVENTS })).map(({ state }) => state);
  await expect.poll(states, closing).toEqual(Array.from({ length: EVENTS }, () => 'processed'));
  const ended = children.map(async (child) => {
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await Promise.all(ended);
}

function gaps(runs: readonly Run[]): readonly number[] {
  return runs.slice(1).map(({ at }, n) => at - (runs[n]?.at ?? 0));
}
