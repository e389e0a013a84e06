import { expect, it } from 'vitest';
import type { EventSummary } from '../../../src/inbox/operator/search.ts';
import { fingerprintOf, retryGroupOf, retryGroupsOf } from '../../../src/inbox/rules/error-groups.ts';

const summary = (seq: number, message: string | null, dueMs: number): EventSummary => ({
  seq,
  endpoint: 'default',
  id: `evt_${seq}`,
  type: 'order.created',
  entity: null,
  verified: true,
  state: 'pending',
  deadReason: null,
  receivedAt: new Date(seq),
  settledAt: null,
  dueAt: new Date(dueMs),
  attempts: 1,
  failures: 1,
  lastOutcome: 'failed',
  redeliveries: 0,
  conflicts: 0,
  lastError: message === null ? null : { name: 'Error', message },
  fingerprint: null,
  pruned: false,
});

it('retries of one error are a group, which says when the first of it is due, and whether there may be more', () => {
  const events = [summary(3, null, 30), summary(2, 'order 2 is late', 10), summary(1, 'order 1 is late', 20)];
  expect(retryGroupsOf(events, true)).toMatchObject([
    {
      fingerprint: fingerprintOf({ name: 'Error', message: 'order 7 is late' }),
      count: 2,
      more: true,
      newest: { seq: 2 },
      oldest: { seq: 1 },
      nextDueAt: new Date(10),
    },
    { fingerprint: 'failed', sample: null, count: 1 },
  ]);
  expect(retryGroupsOf([], false)).toEqual([]);
});

it.each([
  [{ retrying: true, fingerprint: 'a' }, 'a'],
  [{ retrying: false, fingerprint: 'a' }, null],
  [{ fingerprint: 'a' }, null],
  [{ retrying: true }, null],
])('%j asks for the group of retries %j', (filter, group) => {
  expect(retryGroupOf(filter)).toBe(group);
});
