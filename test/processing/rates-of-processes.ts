import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { bundledScript } from '../helpers/bundled-script.ts';
import { orderEvent, store } from '../helpers/order-event.ts';

export const RATE = { count: 20, perMs: 100 };
const EVENTS = 400;
const PROCESSES = 4;
/** Ten times as long as the rate allows. */
const LIMIT_MS = (10 * EVENTS * RATE.perMs) / RATE.count;

interface Outcome {
  /** the most attempts that began in one span */
  readonly most: number;
  readonly tookMs: number;
}

/**
 * Of several processes, one is killed half way, one is told to stop, and another one starts.
 *
 * @param source - further arguments of rated-process.ts
 */
export async function attemptsOfProcesses(inbox: Inbox<never>, source: readonly string[]): Promise<Outcome> {
  const script = await bundledScript(new URL('rated-process.ts', import.meta.url));
  const begin = (): ChildProcess => {
    const args = [script, String(RATE.count), String(RATE.perMs), ...source];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'inherit', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  const ids = Array.from({ length: EVENTS }, (_, n) => `evt_${n}`);
  await store(inbox, ...ids.map((id) => orderEvent(id)));
  const [killed, stopped, ...others] = Array.from({ length: PROCESSES }, begin);
  for (const endsAt = Date.now() + LIMIT_MS; Date.now() < endsAt; await delay(50)) {
    const processed = (await inbox.list({ limit: EVENTS })).filter(({ state }) => state === 'processed').length;
    if (processed > EVENTS / 4 && killed?.signalCode === null) {
      killed.kill('SIGKILL');
      stopped?.stdin?.end();
      others.push(begin());
      await once(killed, 'exit');
    }
    // A killed process may have held the leases of some.
    if (processed >= EVENTS - RATE.count) break;
  }
  const ended = [...(stopped === undefined ? [] : [stopped]), ...others].map(async (child) => {
    child.stdin?.end();
    if (child.exitCode === null) await once(child, 'exit');
  });
  await Promise.all(ended);
  const attempts = await Promise.all(ids.map((id) => inbox.attempts({ endpoint: 'default', id })));
  const starts = attempts.flatMap((of) => of.map(({ startedAt }) => startedAt.getTime())).toSorted((a, b) => a - b);
  expect(starts.length).toBeGreaterThanOrEqual(EVENTS - RATE.count);
  const inSpan = (from: number) => starts.filter((at) => at >= from && at < from + RATE.perMs).length;
  return {
    most: Math.max(...starts.map(inSpan)),
    tookMs: (starts.at(-1) ?? 0) - (starts[0] ?? 0),
  };
}
