import { expect, it } from 'vitest';
import { erasedState } from '../../../src/inbox/rules/erased-event.ts';
import type { EventState } from '../../../src/inbox/state.ts';

it.each<[EventState, becomes: EventState | null]>([
  ['pending', 'discarded'],
  ['processing', null],
  ['processed', 'processed'],
  ['dead', 'dead'],
  ['ignored', 'ignored'],
  ['discarded', 'discarded'],
])('an event that is %s and erased becomes %s', (state, becomes) => {
  expect(erasedState(state)).toBe(becomes);
});
