import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { createReceiver, type Receiver, type ReceiverOptions } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { testInbox } from '../../src/testing/test-inbox.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { VirtualClock } from '../helpers/virtual-clock.ts';

const secret = 'a signing secret';
const MINUTE = 60_000;
const logger = { info() {}, warn() {}, error() {} };

type Upkeep = NonNullable<Inbox['upkeep']>;

function keptUp(upkeep: Upkeep = async () => {}) {
  const called = vi.fn<Upkeep>(upkeep);
  return { called, inbox: { ...memoryInbox(), upkeep: called } satisfies Inbox };
}

function delivery(id: string) {
  const body = new TextEncoder().encode(
    JSON.stringify({ id, type: 'order.ready', created: '2026-01-01T00:00:00Z', data: { id: 'ord_1' } }),
  );
  return { body, signature: signBody(body, secret) };
}

const receiving = (inbox: Inbox, options: Partial<ReceiverOptions> = {}): Receiver =>
  createReceiver({ secret, inbox, logger, ...options });

describe('a receiver', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('has its inbox kept up a minute after a delivery, and again after the next one', async () => {
    const { inbox, called } = keptUp();
    const receiver = receiving(inbox, { clock: { now: () => 4_711, after: () => () => {} } });
    await receiver.receive(delivery('evt_1'));
    await receiver.receive(delivery('evt_2'));
    await vi.advanceTimersByTimeAsync(MINUTE - 1);
    expect(called).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(called).toHaveBeenCalledOnce();
    expect(called.mock.calls[0]?.[0].now()).toBe(4_711);
    await vi.advanceTimersByTimeAsync(5 * MINUTE);
    expect(called).toHaveBeenCalledOnce();
    await receiver.receive(delivery('evt_3'));
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(called).toHaveBeenCalledTimes(2);
    await receiver.close();
  });

  it('goes on after an upkeep that has failed', async () => {
    const { inbox, called } = keptUp(() => Promise.reject(new Error('the disk is full')));
    const receiver = receiving(inbox);
    for (const id of ['evt_1', 'evt_2']) {
      await receiver.receive(delivery(id));
      await vi.advanceTimersByTimeAsync(MINUTE);
    }
    expect(called).toHaveBeenCalledTimes(2);
    await receiver.close();
  });

  it('leaves it to its processor once that was started', async () => {
    const { inbox, called } = keptUp();
    const clock = new VirtualClock();
    const receiver = receiving(inbox, { handlers: { '*': () => {} }, clock });
    await receiver.receive(delivery('evt_1'));
    await receiver.start();
    await receiver.receive(delivery('evt_2'));
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect(called).not.toHaveBeenCalled();
    await clock.advance(MINUTE);
    expect(called).toHaveBeenCalledOnce();
    await receiver.close();
  });

  it('tells an upkeep to stop when it closes, and leaves no timer behind', async () => {
    const { inbox, called } = keptUp(() => new Promise(() => {}));
    const receiver = receiving(inbox);
    await receiver.receive(delivery('evt_1'));
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(called.mock.calls[0]?.[0].isOpen()).toBe(true);
    await receiver.close();
    expect(called.mock.calls[0]?.[0].isOpen()).toBe(false);

    const other = keptUp();
    const closed = receiving(other.inbox);
    await closed.receive(delivery('evt_1'));
    await closed.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

it('a processor has its inbox kept up each minute', async () => {
  const { inbox, called } = keptUp();
  const clock = new VirtualClock();
  const processor = createProcessor({ inbox, handlers: {}, logger, clock });
  await processor.start();
  await clock.advance(3 * MINUTE);
  expect(called).toHaveBeenCalledTimes(3);
  expect(called.mock.calls[0]?.[0].isOpen()).toBe(true);
  await processor.close();
  expect(called.mock.calls[0]?.[0].isOpen()).toBe(false);
});

describe('the upkeep of sqliteInbox', () => {
  it('enters new events into the index of what they are about', async () => {
    await using inbox = sqliteInbox(scratchFile());
    await using receiver = receiving(inbox);
    await receiver.receive(delivery('evt_1'));
    await inbox.upkeep?.({ now: Date.now, isOpen: () => true });
    expect(await inbox.operations?.indexNew(1)).toBe(0);
  });

  it('does nothing once it is told to stop', async () => {
    await using inbox = sqliteInbox(scratchFile());
    await using receiver = receiving(inbox);
    for (const id of ['evt_1', 'evt_2', 'evt_3']) await receiver.receive(delivery(id));
    await inbox.upkeep?.({ now: Date.now, isOpen: () => false });
    expect(await inbox.operations?.indexNew(1)).toBe(2);
  });
});

it('is not done in testInbox: a day of its clock would be a thousand rounds of upkeep', () => {
  expect(testInbox({ inbox: keptUp().inbox }).inbox).not.toHaveProperty('upkeep');
});
