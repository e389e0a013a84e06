import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { EventSummary } from '../../src/inbox/operator/search.ts';
import { fingerprintOf } from '../../src/inbox/rules/error-groups.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { FAILED, failure, handleAgain, handled, inStates, key, RETRY } from './events-in-states.ts';

const KEY = key('evt');
const FAILURE = { name: failure.name, message: failure.message };
const at = (ms: number): Date => new Date(START + ms);

const NOTHING: Omit<EventSummary, 'seq' | 'entity'> = {
  ...KEY,
  type: 'order.created',
  verified: true,
  state: 'processed',
  deadReason: null,
  receivedAt: at(0),
  settledAt: null,
  dueAt: null,
  attempts: 0,
  failures: 0,
  lastOutcome: null,
  redeliveries: 0,
  conflicts: 0,
  lastError: null,
  fingerprint: null,
  pruned: false,
};
const FAILED_ONCE = { attempts: 1, failures: 1, lastOutcome: 'failed', lastError: FAILURE } as const;
const DEAD = { ...NOTHING, ...FAILED_ONCE, state: 'dead', deadReason: 'failed', settledAt: at(2) } as const;
const INVALID = { ...NOTHING, state: 'dead', type: null, deadReason: 'invalid', settledAt: at(0) } as const;
const PROCESSED = { ...NOTHING, settledAt: at(2), attempts: 1, lastOutcome: 'processed' } as const;

const expected: Record<keyof typeof inStates, typeof NOTHING> = {
  pending: { ...NOTHING, state: 'pending', dueAt: at(0) },
  retrying: {
    ...NOTHING,
    state: 'pending',
    dueAt: at(3_600_000),
    ...FAILED_ONCE,
  },
  'in processing': { ...NOTHING, state: 'processing', attempts: 1 },
  processed: PROCESSED,
  'processed, its handler running': PROCESSED,
  'dead (failed)': { ...DEAD, fingerprint: fingerprintOf(failure) },
  'dead (crashed)': {
    ...DEAD,
    deadReason: 'crashed',
    settledAt: at(100),
    attempts: 3,
    failures: 0,
    lastOutcome: 'crashed',
    lastError: null,
    fingerprint: 'crashed',
  },
  'dead (invalid)': {
    ...INVALID,
    fingerprint: 'invalid',
    lastError: { name: 'InvalidEvent', message: expect.stringContaining('type: ') as string },
  },
  'dead (invalid), which fits today': {
    ...INVALID,
    fingerprint: 'invalid',
    lastError: { name: 'InvalidEvent', message: 'the event fits the current schemas of hookbox; rerun it' },
  },
  ignored: { ...NOTHING, state: 'ignored', settledAt: at(3_600_000) },
  discarded: { ...NOTHING, state: 'discarded', settledAt: at(3_600_000) },
  'processed and pruned': { ...PROCESSED, pruned: true },
  'dead (failed) and pruned': { ...DEAD, pruned: true },
  'dead (invalid) and pruned': { ...INVALID, pruned: true },
  'discarded and pruned': {
    ...NOTHING,
    state: 'discarded',
    settledAt: at(3_600_000),
    ...FAILED_ONCE,
    pruned: true,
  },
};

export interface SummarizedStore {
  readonly inbox: Inbox;
  readonly bury: (id: string) => Promise<void>;
}

export const testSummaries = suite((open: () => Promise<SummarizedStore>) => {
  it.each(Object.keys(inStates) as (keyof typeof inStates)[])('of an event that is %s', async (state) => {
    const { inbox, bury } = await open();
    const buried: string[] = [];
    await inStates[state](inbox, (id: string) => void buried.push(id));
    for (const id of buried) await bury(id);
    expect(await operationsOf(inbox).summary(KEY)).toEqual({
      ...expected[state],
      seq: expect.any(Number) as number,
      entity: state.includes('invalid') ? null : orderEvent('evt').entity,
    });
  });

  it('of one that was redelivered, failed, was rerun and failed once more before it went well', async () => {
    const { inbox } = await open();
    await handled(inbox, RETRY, orderEvent('evt'));
    await handleAgain(inbox, FAILED, orderEvent('evt'));
    await inbox.accept(orderEvent('evt'), later());
    await inbox.accept(orderEvent('evt', { total: 1 }), later());
    await inbox.rerun(KEY, orderEvent('evt'), START + 5);
    await handleAgain(inbox, RETRY, orderEvent('evt'));
    await handleAgain(inbox, { outcome: 'interrupted' }, orderEvent('evt'));
    await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt'));
    expect(await operationsOf(inbox).summary(KEY)).toMatchObject({
      state: 'processed',
      attempts: 5,
      failures: 1,
      redeliveries: 2,
      conflicts: 1,
      lastError: FAILURE,
      settledAt: at(2),
    });
  });

  it('is null of one that is not there', async () => {
    const { inbox } = await open();
    expect(await operationsOf(inbox).summary(KEY)).toBeNull();
  });
});
