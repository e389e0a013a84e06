import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import { realClock, virtualClock } from '../../src/sender/sender-clock.ts';

const HOUR_MS = 3_600_000;

describe('the virtual clock', () => {
  it('jumps to what is due next, in the order of time and then of who came first', async () => {
    const clock = virtualClock(0);
    const seen: [string, number][] = [];
    const wait = async (name: string, at: number): Promise<void> => {
      await clock.until(at);
      seen.push([name, clock.now()]);
    };
    const startedAt = performance.now();
    await Promise.all([wait('c', 24 * HOUR_MS), wait('a', 5), wait('d', 24 * HOUR_MS), wait('b', HOUR_MS)]);
    expect(seen).toEqual([
      ['a', 5],
      ['b', HOUR_MS],
      ['c', 24 * HOUR_MS],
      ['d', 24 * HOUR_MS],
    ]);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it('does not wait for what is due already, and never goes back', async () => {
    const clock = virtualClock(1_000);
    await clock.until(500);
    await clock.until(1_000);
    expect(clock.now()).toBe(1_000);
  });

  it('stands still while work is done', async () => {
    const clock = virtualClock(0);
    let woken = false;
    const waiting = clock.until(HOUR_MS).then(() => (woken = true));
    const during = await clock.hold(async () => {
      await delay(30);
      return [clock.now(), woken];
    });
    expect(during).toEqual([0, false]);
    await waiting;
    expect(clock.now()).toBe(HOUR_MS);
  });

  it('lets all that follows from work happen before it jumps', async () => {
    const clock = virtualClock(0);
    const late = clock.until(HOUR_MS);
    await clock.hold(async () => delay(1));
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    await clock.until(10);
    expect(clock.now()).toBe(10);
    await late;
  });

  it('goes on when work fails', async () => {
    const clock = virtualClock(0);
    await expect(clock.hold(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await clock.until(5);
    expect(clock.now()).toBe(5);
  });

  it('asks before each jump', async () => {
    const jumps: number[] = [];
    const clock = virtualClock(0, async () => {
      await delay(1);
      jumps.push(clock.now());
    });
    await Promise.all([clock.until(5), clock.until(5), clock.until(10)]);
    expect(jumps).toEqual([0, 5]);
  });

  it('asks only when all that follows from work is done, too', async () => {
    const seen: string[] = [];
    const work = async (name: string): Promise<void> => {
      await delay(1);
      seen.push(name);
    };
    const clock = virtualClock(0, () => work('jump'));
    const waiting = clock.until(5);
    await clock.hold(() => work('one'));
    await Promise.resolve();
    await clock.hold(() => work('another'));
    await waiting;
    expect(seen).toEqual(['one', 'another', 'jump']);
  });

  it('ends waiting when the signal is aborted, and time does not move for it', async () => {
    const clock = virtualClock(0);
    const controller = new AbortController();
    const held = clock.hold(() => delay(20));
    const waiting = clock.until(HOUR_MS, controller.signal);
    controller.abort();
    await waiting;
    await clock.until(HOUR_MS, controller.signal);
    await held;
    await delay(5);
    expect(clock.now()).toBe(0);
  });

  it('wakes ten thousand in their order', async () => {
    const clock = virtualClock(0);
    const seen: number[] = [];
    const times = Array.from({ length: 10_000 }, (_, n) => (n * 7_919) % 10_007);
    await Promise.all(times.map((at) => clock.until(at).then(() => seen.push(at))));
    expect(seen).toEqual(times.toSorted((a, b) => a - b));
  });
});

describe('the real clock', () => {
  it('shows the time of day and waits as long as it takes', async () => {
    const clock = realClock();
    const before = Date.now();
    expect(Math.abs(clock.now() - before)).toBeLessThan(1_000);
    await clock.until(clock.now() + 50);
    expect(Date.now() - before).toBeGreaterThanOrEqual(45);
  });

  it('divides waits by its scale', async () => {
    const clock = realClock({ scale: 3_600, startAt: 0 });
    const startedAt = performance.now();
    await clock.until(0.1 * HOUR_MS);
    const took = performance.now() - startedAt;
    expect(took).toBeGreaterThanOrEqual(95);
    expect(took).toBeLessThan(5_000);
    expect(clock.now()).toBeGreaterThanOrEqual(0.1 * HOUR_MS);
  });

  it('ends waiting when the signal is aborted', async () => {
    const clock = realClock();
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 10);
    await clock.until(clock.now() + 40 * 24 * HOUR_MS, controller.signal); // longer than a timer can be
    await clock.until(clock.now() + HOUR_MS, controller.signal);
  });

  it.each([0, -1, Number.NaN])('refuses a scale of %d', (scale) => {
    expect(() => realClock({ scale })).toThrow(ConfigurationError);
  });
});
