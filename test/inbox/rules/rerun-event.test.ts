import { expect, it } from 'vitest';
import { backToPending, mayRerun } from '../../../src/inbox/rules/rerun-event.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { eventStates, type EventState } from '../../../src/inbox/state.ts';
import { scripted } from './scripted-engine.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const CONTENT = { type: 'order.created', created: { ms: 1, ns: 0 }, entity: 'order' };

it.each(eventStates)('an event that is %s', (state) => {
  const may = (['dead', 'ignored', 'discarded'] satisfies EventState[] as readonly EventState[]).includes(state);
  expect(mayRerun({ state, isPruned: false, isAsRead: true })).toBe(may);
  expect(mayRerun({ state, isPruned: true, isAsRead: true })).toBe(false);
  expect(mayRerun({ state, isPruned: false, isAsRead: false })).toBe(false);
});

it('an unknown event is not rerun', () => {
  expect(mayRerun(undefined)).toBe(false);
});

it('moves and is counted', () => {
  const { engine, asked } = scripted();
  atOnce(backToPending(engine, KEY, CONTENT, 5));
  expect(asked).toEqual([
    ['toPending', KEY, CONTENT, 5],
    ['noteTime', 5],
    ['count', 'rerun', 'order.created'],
  ]);
});
