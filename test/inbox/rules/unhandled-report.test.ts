import { expect, it } from 'vitest';
import {
  COUNTED,
  ignoredTypes,
  unhandledTypes,
  type PendingType,
  PRESENT_MS,
} from '../../../src/inbox/rules/processors.ts';

const NOW = 10 * PRESENT_MS;
const LONG_AGO = NOW - PRESENT_MS;
const lane = { endpoint: 'default', type: 'order.created' };
const pending: PendingType = {
  ...lane,
  count: 1,
  dueAt: 0,
  isPaused: false,
  lastSeen: null,
  wasEndpointHandled: false,
};

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
    const total = { ...pending, count: 3, dueAt, lastSeen: seen, wasEndpointHandled: ever };
    const expected = since === undefined ? [] : [{ ...lane, count: 3, more: false, since }];
    expect(unhandledTypes([total], { isAnybodyThere: anybody, handledSince: LONG_AGO })).toEqual(expected);
    expect(unhandledTypes([{ ...total, isPaused: true }], { isAnybodyThere: anybody, handledSince: LONG_AGO })).toEqual(
      [],
    );
  },
);

it('a processor counts as there as of when the caller says', () => {
  const report = (handledSince: number) =>
    unhandledTypes([{ ...pending, lastSeen: 50 }], { isAnybodyThere: true, handledSince });
  expect(report(49)).toEqual([]);
  expect(report(50)).toHaveLength(1);
});

it.each([
  [COUNTED, COUNTED, false],
  [COUNTED + 1, COUNTED, true],
])('%i are told as %i', (count, told, more) => {
  const expected = [{ ...lane, count: told, more, handled: false }];
  expect(ignoredTypes([{ ...lane, count, lastSeen: null }], NOW)).toEqual(expected);
});

it('of what was put away it is told whether somebody handles it now', () => {
  expect(ignoredTypes([{ ...lane, count: 1, lastSeen: NOW - 1 }], NOW)).toMatchObject([{ handled: true }]);
});
