import { expect, it } from 'vitest';
import type { Author } from '../../../src/inbox/operator/acts.ts';
import { pausedSeconds, planPause } from '../../../src/inbox/rules/pauses.ts';

const ADA: Author = { actor: 'ada', via: 'cli', reason: 'the shop is down', now: 5_000 };
const LANE = { endpoint: 'default', type: 'order.created' };

it('a type is paused once, and stays as it was paused first', () => {
  const pause = { ...LANE, since: new Date(5_000), actor: 'ada', reason: 'the shop is down' };
  expect(planPause(null, LANE, ADA)).toEqual({ pause, changed: true });
  expect(planPause(pause, LANE, { ...ADA, actor: 'bob', now: 9_000 })).toEqual({ pause, changed: false });
});

it.each([
  [5_000, 0],
  [7_499, 2],
  [7_500, 3],
  [1_000, 0],
])('a type that is resumed at %i was paused for %i s', (now, seconds) => {
  expect(pausedSeconds({ ...LANE, since: new Date(5_000), actor: 'ada', reason: null }, now)).toBe(seconds);
});
