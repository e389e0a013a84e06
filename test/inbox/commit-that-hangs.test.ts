import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { GroupCommit, type CommitOutcome } from '../../src/inbox/group-commit.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }));
afterEach(() => vi.useRealTimers());

/** A disk that never answers, as one that is attached over a network that is gone. */
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
  // Whoever commits is ended then, and says what became of its groups.
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
