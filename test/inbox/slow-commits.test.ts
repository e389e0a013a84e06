import { afterEach, beforeEach, describe, expect, it, vi, test } from 'vitest';
import { type CommitOutcome, GroupCommit } from '../../src/inbox/group-commit.ts';

describe('deliveries that come one by one to a thread, on a clock of the test', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('wait for little more than the commit under way and their own, where commits are slow', async () => {
    const { waits, groups } = await deliveriesTo({ commitMs: 20, everyMs: 1, count: 2_000 });
    expect(waits).toHaveLength(2_000);
    // Half a commit until the one in progress is over, and one more: 30 ms. A group formed too early makes it 49.
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
    const requestedAt = performance.now();
    void commits.submitMove(String(at)).then(() => waits.push(performance.now() - requestedAt));
    await vi.advanceTimersByTimeAsync(everyMs);
  }
  await vi.advanceTimersByTimeAsync(10 * commitMs);
  return { waits, groups: disk.atHandover.length, atHandover: disk.atHandover };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }));
afterEach(() => vi.useRealTimers());

function hanging() {
  const groups: (readonly string[])[] = [];
  const answers: ((outcomes: readonly CommitOutcome[]) => void)[] = [];
  const queue = new GroupCommit<string>(
    (jobs) => {
      groups.push(jobs);
      return new Promise((resolve) => answers.push(resolve));
    },
    { maxWaiting: 4, maxWaitingBytes: Infinity },
  );
  return { queue, groups, answers };
}

async function threeWaiting() {
  const hung = hanging();
  const { queue } = hung;
  const ends: string[] = [];
  for (const job of ['first', 'second', 'third', 'fourth']) {
    queue.submit(job, 10, performance.now() + 5_000).then(
      () => ends.push(`${job} stored`),
      (failure: Error) => ends.push(`${job}: ${failure.message}`),
    );
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(hung.groups).toEqual([['first'], ['second']]);
  return { ...hung, ends };
}

test('what is late leaves the queue while both groups hang, and makes room', async () => {
  const { queue, ends, groups, answers } = await threeWaiting();
  await expect(queue.submit('one too many', 10, Infinity)).rejects.toThrow('4 deliveries are already waiting');
  await vi.advanceTimersByTimeAsync(7_000);
  expect(ends).toEqual([
    'third: the database stayed locked past the deadline',
    'fourth: the database stayed locked past the deadline',
  ]);
  void queue.submit('fifth', 10, Infinity).then(() => ends.push('fifth stored'));
  answers[0]?.([{ result: null }]);
  await vi.advanceTimersByTimeAsync(10);
  expect(groups[2]).toEqual(['fifth']);
  answers[1]?.([{ result: null }]);
  answers[2]?.([{ result: null }]);
  await vi.advanceTimersByTimeAsync(10);
  expect(ends.slice(2)).toEqual(['first stored', 'second stored', 'fifth stored']);
  await queue.close();
});

test('closing does not wait for ever for a disk that hangs', async () => {
  const { queue, ends, answers } = await threeWaiting();
  let closed = false;
  void queue.close().then(() => (closed = true));
  void queue.close();
  await vi.advanceTimersByTimeAsync(9_000);
  expect(closed).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(closed).toBe(true);
  expect(ends.map((end) => end.split(':')[0])).toEqual(['third', 'fourth']);
  answers[0]?.([{ result: null }]);
  await vi.advanceTimersByTimeAsync(10);
  expect(ends[2]).toBe('first stored');
});

test('a job that is durable is answered before its group, and keeps that answer', async () => {
  const group = Promise.withResolvers<readonly CommitOutcome[]>();
  const queue = new GroupCommit<string>((jobs, _, answer) => {
    answer(jobs.indexOf('quick'), 'at once');
    return group.promise;
  });
  const ends: unknown[] = [];
  for (const job of ['slow', 'quick']) void queue.submitMove(job).then((result) => ends.push([job, result]));
  await vi.advanceTimersByTimeAsync(1);
  expect(ends).toEqual([['quick', 'at once']]);
  expect(queue.underWayMs).toBeGreaterThan(0);
  group.resolve([{ result: 'at the end' }, { result: 'another' }]);
  await queue.close();
  expect(ends).toEqual([
    ['quick', 'at once'],
    ['slow', 'at the end'],
  ]);
});
