import { expect, it } from 'vitest';
import type { Attempt } from '../../src/inbox/work.ts';
import { foldedTimeline, type TimelineEntry } from '../../src/ops/find.ts';
import { testFindingByText } from './find-by-text.conformance.ts';
import { testFinding } from './find.conformance.ts';
import { searchedFile } from './searched-store.ts';
import { testWaits } from './waits.conformance.ts';

testFinding('an event in SQLite', searchedFile);
testFindingByText('events in SQLite', searchedFile);
testWaits('why an event waits in SQLite', searchedFile);

const attempt = (number: number, message: string | null, parts: Partial<Attempt> = {}): TimelineEntry => {
  const at = new Date(number * 1_000);
  const error = message === null ? null : { name: 'TimeoutError', message, stack: null };
  const outcome = message === null ? 'processed' : 'failed';
  return {
    what: 'attempt',
    at,
    attempt: { number, trigger: 'auto', outcome, startedAt: at, endedAt: at, error, ...parts },
  };
};

const shown = (timeline: readonly TimelineEntry[]) =>
  foldedTimeline(timeline).map((entry) => {
    if (entry.what === 'attempts') return `${entry.attempts[0].number}-${entry.last.number}`;
    return entry.what === 'attempt' ? entry.attempt.number : entry.what;
  });

it('attempts that failed alike in a row are one entry; ids and numbers in what they said do not count', () => {
  const timeline: TimelineEntry[] = [
    { what: 'stored', at: new Date(0) },
    attempt(1, 'no route'),
    attempt(2, 'no route'),
    attempt(3, 'timed out after 5003 ms'),
    attempt(4, 'timed out after 5001 ms'),
    attempt(5, 'timed out after 5017 ms'),
    attempt(6, null),
  ];
  expect(shown(timeline)).toEqual(['stored', 1, 2, '3-5', 6]);
});

it('what happens in between, a rerun or another outcome begins a new one', () => {
  const alike = (numbers: readonly number[], parts: Partial<Attempt> = {}) =>
    numbers.map((number) => attempt(number, 'no route', parts));
  const redelivered: TimelineEntry = { what: 'redelivered', at: new Date(3_500) };
  expect(shown([...alike([1, 2, 3]), redelivered, ...alike([4, 5, 6])])).toEqual(['1-3', 'redelivered', '4-6']);
  expect(shown([...alike([1, 2, 3]), ...alike([4], { trigger: 'manual' }), ...alike([5, 6])])).toEqual([
    '1-3',
    4,
    5,
    6,
  ]);
  expect(shown([...alike([1, 2]), ...alike([3], { outcome: 'crashed' })])).toEqual([1, 2, 3]);
  expect(shown(alike([1, 2, 3], { error: null }))).toEqual([1, 2, 3]);
  expect(shown([])).toEqual([]);
});
