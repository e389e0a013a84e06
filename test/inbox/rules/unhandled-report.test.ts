import { expect, it } from 'vitest';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { COUNTED, ignoredTypes, unhandledTypes } from '../../../src/inbox/rules/unhandled-report.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { TAKER_MS } from '../../../src/inbox/rules/takers.ts';
import { scripted } from './scripted-engine.ts';

const NOW = 10 * TAKER_MS;
const LONG_AGO = NOW - TAKER_MS;
const lane = { endpoint: 'default', type: 'order.created' };

interface Case {
  readonly dueAt?: number;
  readonly seen?: number | null;
  readonly anybody?: boolean;
  readonly ever?: boolean;
}

it.each<[string, Case, Date | null | undefined]>([
  ['somebody handled it until ten minutes ago', { seen: LONG_AGO }, new Date(LONG_AGO)],
  ['somebody is there', { seen: LONG_AGO + 1 }, undefined],
  ['it has just become due', { seen: LONG_AGO, dueAt: LONG_AGO + 1 }, undefined],
  ['nobody ever handled it, and processors run that do not know its endpoint', { anybody: true }, null],
  ['nobody ever handled it, but its endpoint', { anybody: true, ever: true }, undefined],
  ['no processor runs at all', {}, undefined],
])(
  'what waits is told of, or not: %s',
  (_, { dueAt = LONG_AGO, seen = null, anybody = false, ever = false }, since) => {
    const { engine } = scripted({
      pendingTypes: () => [{ ...lane, count: 3, dueAt }],
      lastSeen: () => seen,
      isAnybodyThere: () => anybody,
      wasEverHandled: () => ever,
    });
    const expected = since === undefined ? [] : [{ ...lane, count: 3, more: false, since }];
    expect(atOnce(unhandledTypes(engine, NOW))).toEqual(expected);
  },
);

it('who was there is judged as of when the caller says', () => {
  const { engine } = scripted({ pendingTypes: () => [{ ...lane, count: 1, dueAt: 0 }], lastSeen: () => 50 });
  expect(atOnce(unhandledTypes(engine, NOW, 49))).toEqual([]);
  expect(atOnce(unhandledTypes(engine, NOW, 50))).toHaveLength(1);
});

it.each([
  [COUNTED, COUNTED, false],
  [COUNTED + 1, COUNTED, true],
])('%i are told as %i', (count, told, more) => {
  const { engine } = scripted({ ignoredTypes: () => [{ ...lane, count }], lastSeen: () => null });
  expect(atOnce(ignoredTypes(engine, EVERYTHING, 0, NOW))).toEqual([{ ...lane, count: told, more, handled: false }]);
});

it('of what was put away it is told whether somebody handles it now', () => {
  const { engine } = scripted({ ignoredTypes: () => [{ ...lane, count: 1 }], lastSeen: () => NOW - 1 });
  expect(atOnce(ignoredTypes(engine, EVERYTHING, 0, NOW))).toMatchObject([{ handled: true }]);
});
