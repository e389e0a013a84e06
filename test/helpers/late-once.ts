import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import type { Delivery } from '../../src/receive/delivery.ts';
import type { Outcome } from '../../src/receive/outcome.ts';
import type { Receiver } from '../../src/receive/receiver.ts';

/** For a receiver whose deliveries are late when the test says so; no other timer is as long. */
export const HELD = { deadlineMs: 86_400_000 } as const;

/**
 * The answer to a delivery whose time is up once something has happened. By a limit of real time, a machine that is slow for a
 * moment would not have come so far, and something else would be tested.
 */
export async function lateOnce(receiver: Receiver, delivery: Delivery, happened: () => boolean): Promise<Outcome> {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const answered = receiver.receive(delivery);
  const at = timers.mock.calls.findIndex(([, ms]) => ms === HELD.deadlineMs);
  const [timeIsUp] = timers.mock.calls[at] ?? [];
  const timer = timers.mock.results[at]?.value as NodeJS.Timeout | undefined;
  timers.mockRestore();
  if (timeIsUp === undefined) throw new Error('the receiver has another deadline');
  const early: Outcome[] = [];
  void answered.then((outcome) => early.push(outcome));
  while (!happened()) {
    if (early.length > 0) throw new Error(`it was answered before: ${early[0]?.kind}`);
    await sleep(2);
  }
  clearTimeout(timer);
  timeIsUp();
  return answered;
}
