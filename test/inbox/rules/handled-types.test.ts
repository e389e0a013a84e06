import { expect, it } from 'vitest';
import {
  IGNORE_AFTER_MS,
  PRESENT_MS,
  goneSince,
  isAmong,
  isInScope,
  rerunOfferedSince,
  seenSince,
  wasSeenAfter,
} from '../../../src/inbox/rules/processors.ts';
import type { Scope } from '../../../src/inbox/work.ts';

const NOW = 2 * IGNORE_AFTER_MS;

it('somebody is there for ten minutes after being seen', () => {
  expect(wasSeenAfter(NOW - PRESENT_MS + 1, seenSince(NOW))).toBe(true);
  expect(wasSeenAfter(NOW - PRESENT_MS, seenSince(NOW))).toBe(false);
  expect(wasSeenAfter(null, seenSince(NOW))).toBe(false);
});

it('somebody is gone after seven days, and not before whoever judges has looked for long enough', () => {
  expect(goneSince(NOW, NOW - PRESENT_MS)).toBe(NOW - IGNORE_AFTER_MS);
  expect(goneSince(NOW, NOW - IGNORE_AFTER_MS - 1)).toBe(NOW - IGNORE_AFTER_MS - 1);
});

it('a rerun is offered of what was put away in the last seven days', () => {
  expect(NOW - rerunOfferedSince(NOW)).toBe(7 * 24 * 3_600_000);
});

it.each<[Scope['types'], string | null, boolean]>([
  ['*', 'order.created', true],
  ['*', null, true],
  [['order.created'], 'order.created', true],
  [['order.created'], 'order.ready', false],
  [['order.created'], null, false],
  [[], 'order.created', false],
])('of the types %j %j is handled: %s', (types, type, expected) => {
  expect(isAmong(types, type)).toBe(expected);
});

it.each<[Scope, boolean]>([
  [{ endpoints: '*', types: '*' }, true],
  [{ endpoints: ['default'], types: ['order.created'] }, true],
  [{ endpoints: ['shop-b'], types: '*' }, false],
  [{ endpoints: '*', types: ['order.ready'] }, false],
])('an event is in the scope %j: %s', (scope, expected) => {
  expect(isInScope(scope, { endpoint: 'default', type: 'order.created' })).toBe(expected);
});
