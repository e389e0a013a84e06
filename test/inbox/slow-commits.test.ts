import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CommitOutcome, GroupCommit } from '../../src/inbox/group-commit.ts';

describe('deliveries that come one by one to a thread, on a clock of the test', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('wait for little more than the commit under way and their own, where commits are slow', async () => {
    const { waits, groups } = await deliveriesTo({ commitMs: 20, everyMs: 1, count: 2_000 });
    expect(waits).toHaveLength(2_000);
    // Half a commit until the one under way is over, and one more: 30 ms. A group made ready too early makes it 49.
    expect(mean(waits)).toBeGreaterThan(29);
    expect(mean(waits)).toBeLessThan(33);
    expect(groups).toBeLessThan(105);
  });

  it('are handed over while the one before is written, where commits are quick', async () => {
    const { atHandover } = await deliveriesTo({ commitMs: 3, everyMs: 0.5, count: 200 });
    expect(atHandover.filter((underWay) => underWay === 1).length).toBeGreaterThan(atHandover.length / 2);
  });

  it.each([
    { name: 'when the one before takes longer than the last one did', commitMs: 20, notBeforeMs: 11, withinMs: 31 },
    { name: 'within a second, where the last one took a minute', commitMs: 60_000, notBeforeMs: 900, withinMs: 1_001 },
  ])('are handed over all the same $name', async ({ commitMs, notBeforeMs, withinMs }) => {
    const { disk, commits } = slowDisk(commitMs);
    void commits.submitMove('first');
    await vi.advanceTimersByTimeAsync(commitMs + 10);
    disk.hangs = true;
    void commits.submitMove('hangs');
    await vi.advanceTimersByTimeAsync(1);
    void commits.submitMove('beside it');
    await vi.advanceTimersByTimeAsync(notBeforeMs - 1);
    expect(disk.asked).toEqual(['first', 'hangs']);
    await vi.advanceTimersByTimeAsync(withinMs - notBeforeMs);
    expect(disk.asked).toEqual(['first', 'hangs', 'beside it']);
  });

  it('are handed over at once where they fill a group', async () => {
    const { disk, commits } = slowDisk(20);
    void commits.submitMove('first');
    await vi.advanceTimersByTimeAsync(30);
    void commits.submitMove('second');
    await vi.advanceTimersByTimeAsync(1);
    for (let at = 0; at < 600; at += 1) void commits.submitMove(`more ${at}`);
    await vi.advanceTimersByTimeAsync(1);
    expect(disk.asked).toHaveLength(2 + 512);
  });
});

/** A disk that writes one group after the other, in another thread. */
function slowDisk(commitMs: number) {
  const disk = { asked: [] as string[], underWay: 0, atHandover: [] as number[], hangs: false };
  let freeAt = 0;
  const commits = new GroupCommit<string>((jobs) => {
    disk.atHandover.push(disk.underWay);
    disk.asked.push(...jobs);
    disk.underWay += 1;
    freeAt = Math.max(freeAt, performance.now()) + commitMs;
    return new Promise<readonly CommitOutcome[]>((resolve) => {
      if (disk.hangs) return;
      setTimeout(() => {
        disk.underWay -= 1;
        resolve(jobs.map((result) => ({ result })));
      }, freeAt - performance.now());
    });
  });
  return { disk, commits };
}

async function deliveriesTo({ commitMs, everyMs, count }: { commitMs: number; everyMs: number; count: number }) {
  const { disk, commits } = slowDisk(commitMs);
  const waits: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const askedAt = performance.now();
    void commits.submitMove(String(at)).then(() => waits.push(performance.now() - askedAt));
    await vi.advanceTimersByTimeAsync(everyMs);
  }
  await vi.advanceTimersByTimeAsync(10 * commitMs);
  return { waits, groups: disk.atHandover.length, atHandover: disk.atHandover };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
