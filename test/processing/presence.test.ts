import { expect, it } from 'vitest';
import { createPresence } from '../../src/processing/announcer.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The clock is set back by three hours for the third announcement, and is right again. */
const WRONG = 3 * HOUR + 10 * MINUTE - 3 * HOUR;

it('counts whoever was seen while the clock was wrong for a while as there', () => {
  const presence = createPresence();
  for (const now of [3 * HOUR, 3 * HOUR + 5 * MINUTE, WRONG]) presence.announced(now);
  const now = 3 * HOUR + 15 * MINUTE;
  expect(presence.handledSince(now)).toBe(WRONG);
  expect(presence.ignoreBefore(now)).toBe(WRONG);
});

it('counts whoever was seen two of its own announcements ago as there, whatever the clock shows', () => {
  const presence = createPresence();
  for (const now of [0, 5 * MINUTE, 10 * MINUTE]) presence.announced(now);
  expect(presence.handledSince(8 * 24 * HOUR)).toBe(0);
  expect(presence.ignoreBefore(8 * 24 * HOUR)).toBe(5 * MINUTE);
});
