import { expect, it } from 'vitest';
import type { Author } from '../../../src/inbox/operator/acts.ts';
import {
  lastingPauses,
  pauseRequest,
  pausedSeconds,
  planHandlersPause,
  planPause,
} from '../../../src/inbox/rules/pauses.ts';

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

const ASKED = { ...LANE, now: 5_000, until: 9_000, reason: 'down' };
const BY_HANDLER = { ...LANE, since: new Date(5_000), until: new Date(9_000), actor: 'processor', reason: 'down' };
const BY_ADA = { ...LANE, since: new Date(1_000), actor: 'ada', reason: null };

it.each([
  ['nothing', null, { pause: BY_HANDLER, isNew: true }],
  ['an operator', BY_ADA, null],
  ['a handler, for longer', { ...BY_HANDLER, until: new Date(9_001) }, null],
  ['a handler, for as long', BY_HANDLER, null],
  [
    'a handler, for a shorter time',
    { ...BY_HANDLER, since: new Date(2_000), until: new Date(8_999) },
    { pause: { ...BY_HANDLER, since: new Date(2_000) }, isNew: false },
  ],
  [
    'a handler, until now',
    { ...BY_HANDLER, since: new Date(2_000), until: new Date(5_000) },
    { pause: BY_HANDLER, isNew: true },
  ],
])("a handler's pause after a pause by %s", (_, known, plan) => {
  expect(planHandlersPause(known, ASKED)).toEqual(plan);
});

it("an operator's pause replaces a handler's", () => {
  expect(planPause(BY_HANDLER, LANE, ADA)).toEqual({
    pause: { ...LANE, since: new Date(5_000), actor: 'ada', reason: 'the shop is down' },
    changed: true,
  });
});

it('a pause lasts until its end', () => {
  expect(lastingPauses([BY_HANDLER, BY_ADA], 8_999)).toHaveLength(2);
  expect(lastingPauses([BY_HANDLER, BY_ADA], 9_000)).toEqual([BY_ADA]);
});

it('the reason of a pause is the text of the error, cut', () => {
  const error = { name: 'RetryLaterError', message: ` ${'x'.repeat(499)}😀`, stack: null };
  const asked = pauseRequest(LANE, { outcome: 'retry', error, dueAt: 0, pauseUntil: 2 }, 1);
  expect(asked?.reason).toBe(`${'x'.repeat(499)}�`);
  const blank = { ...error, message: ' ' };
  expect(pauseRequest(LANE, { outcome: 'dead', reason: 'failed', error: blank, pauseUntil: 2 }, 1)?.reason).toBeNull();
  expect(pauseRequest({ ...LANE, type: null }, { outcome: 'retry', error, dueAt: 0, pauseUntil: 2 }, 1)).toBeNull();
});
