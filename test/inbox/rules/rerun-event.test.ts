import { expect, it } from 'vitest';
import { mayRerun } from '../../../src/inbox/rules/rerun-event.ts';
import { eventStates, type EventState } from '../../../src/inbox/state.ts';

it.each(eventStates)('an event that is %s', (state) => {
  const may = (['dead', 'ignored', 'discarded'] satisfies EventState[] as readonly EventState[]).includes(state);
  expect(mayRerun({ state, isPruned: false, isAsRead: true })).toBe(may);
  expect(mayRerun({ state, isPruned: true, isAsRead: true })).toBe(false);
  expect(mayRerun({ state, isPruned: false, isAsRead: false })).toBe(false);
});

it('an unknown event is not rerun', () => {
  expect(mayRerun(undefined)).toBe(false);
});
