import { describe, expect, it } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import type { Inbox, Operations } from '../../src/inbox/contract.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import type { SilentFacts } from '../../src/receive/delivery-hooks.ts';
import { createReceiver, type ReceiverOptions } from '../../src/receive/receiver.ts';
import { signBody } from '../../src/signing/signature.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

const secret = 'a signing secret';

function receiving(options: Partial<ReceiverOptions>) {
  const receiver = createReceiver({ secret, inbox: memoryInbox(), logger: false, ...options });
  const deliver = (event: object) => {
    const body = Buffer.from(JSON.stringify(event));
    return receiver.receive({ body, signature: signBody(body, secret) });
  };
  return { receiver, deliver };
}

const event = (id: string, total = 1) => ({
  id,
  type: 'order.created',
  created: '2026-01-01T00:00:00Z',
  data: { total },
});

describe('the hooks of a receiver', () => {
  it('are told of other bytes under an id, and of what fits no schema', async () => {
    const told: unknown[] = [];
    const { receiver, deliver } = receiving({
      onConflict: (facts) => told.push(['onConflict', facts]),
      onDead: (facts) => told.push(['onDead', facts]),
    });
    for (const body of [event('evt_1'), event('evt_1'), event('evt_1', 2), { ...event('evt_2'), created: 'never' }]) {
      expect((await deliver(body)).status).toBe(200);
    }
    const about = { endpoint: 'default', type: 'order.created' };
    expect(told).toEqual([
      ['onConflict', { ...about, id: 'evt_1' }],
      ['onDead', { ...about, id: 'evt_2', attempt: 0, error: null, durationMs: null, reason: 'invalid' }],
    ]);
    await receiver.close();
  });

  it('are told of handlers that run before the answer, and a host that stops with it is asked to wait', async () => {
    const told: unknown[] = [];
    const waited: Promise<unknown>[] = [];
    const { promise: sent, resolve } = Promise.withResolvers<void>();
    const { receiver } = receiving({
      processing: { mode: 'inline' },
      handlers: { '*': () => Promise.reject(new Error('fails')) },
      onFailed: async (facts) => {
        await sent;
        told.push(facts);
      },
    });
    const body = Buffer.from(JSON.stringify(event('evt_1')));
    const host = { waitUntil: (work: Promise<unknown>) => void waited.push(work) };
    expect((await receiver.receive({ body, signature: signBody(body, secret), host })).status).toBe(500);
    expect([told.length, waited.length]).toEqual([0, 1]);
    resolve();
    await Promise.all(waited);
    expect(told).toMatchObject([{ id: 'evt_1', attempt: 1, error: { name: 'Error' }, dueAt: null }]);
    await receiver.close();
  });

  it.each([
    [{ onConflict: 'mail' }, 'onConflict must be a function'],
    [{ silentAfterMs: 0 }, 'silentAfterMs must be a number above 0'],
  ])('%j is refused', (options, why) => {
    const create = () => receiving(options as Partial<ReceiverOptions>);
    expect(create).toThrow(ConfigurationError);
    expect(create).toThrow(why);
  });
});

describe('onSilent', () => {
  const HOUR = 3_600_000;

  function watching(inbox: Inbox = memoryInbox()) {
    const clock = new VirtualClock();
    const told: SilentFacts[] = [];
    const onSilent = (facts: SilentFacts) => void told.push(facts);
    return { clock, told, ...receiving({ inbox, clock, onSilent, silentAfterMs: HOUR }) };
  }

  it('is called once when nothing was accepted for so long, and again after the next silence', async () => {
    const { clock, told, receiver, deliver } = watching();
    await clock.advance(0.9 * HOUR);
    await deliver(event('evt_1'));
    await clock.advance(0.99 * HOUR);
    expect(told).toEqual([]);
    await clock.advance(9 * HOUR);
    expect(told).toMatchObject([{ endpoint: 'default', silentAfterMs: HOUR, lastReceivedAt: expect.any(Date) }]);
    expect(told[0]?.silentForMs).toBeGreaterThanOrEqual(HOUR);
    await deliver(event('evt_1'));
    await clock.advance(1.2 * HOUR);
    expect(told).toHaveLength(2);
    await receiver.close();
    expect(clock.waiting).toBe(0);
  });

  it('says nothing of a machine that has slept, or whose clock was moved', async () => {
    const { clock, told, receiver } = watching();
    clock.block(9 * HOUR);
    await clock.advance(0.5 * HOUR);
    expect(told).toEqual([]);
    await receiver.close();
  });

  it('knows what another process has received', async () => {
    await using inbox = sqliteInbox(scratchFile());
    const { clock, told, receiver } = watching(inbox);
    for (let n = 0; n < 4; n += 1) {
      await clock.advance(0.6 * HOUR);
      await inbox.accept(orderEvent(`evt_${n}`), later());
    }
    expect(told).toEqual([]);
    await clock.advance(1.3 * HOUR);
    expect(told).toMatchObject([{ lastReceivedAt: new Date(START) }]);
    await receiver.close();
  });

  it('is told of its own endpoint, however much comes at others', async () => {
    await using inbox = sqliteInbox(scratchFile());
    const operations = operationsOf(inbox);
    /** A page ends after three events instead of thousands. */
    const search: Operations['search'] = async (filter, page) => {
      const above = page.before ?? Infinity;
      const all = (await operations.search({}, { limit: 100 })).events.filter(({ seq }) => seq < above);
      const examined = all.slice(0, 3);
      const fitting = ({ endpoint }: { readonly endpoint: string }) => endpoint === (filter.endpoint ?? endpoint);
      const next = all.length > 3 ? (examined.at(-1)?.seq ?? null) : null;
      return { events: examined.filter(fitting).slice(0, page.limit), next, examined: examined.length };
    };
    const { clock, told, receiver } = watching({ ...inbox, operations: { ...operations, search } });
    let stored = 0;
    const others = async (count: number) => {
      for (let n = 0; n < count; n += 1) {
        await inbox.accept({ ...orderEvent(`evt_${stored++}`), endpoint: 'busy' }, later());
      }
    };
    // This process must find its event beneath those of the other.
    for (let n = 0; n < 3; n += 1) {
      await inbox.accept(orderEvent(`own_${n}`, { receivedAt: START + n }), later());
      await others(7);
      await clock.advance(0.6 * HOUR);
      await others(1);
    }
    expect(told).toEqual([]);
    // Its newest event sinks below the first page.
    for (let n = 0; n < 6; n += 1) {
      await clock.advance(0.2 * HOUR);
      await others(4);
    }
    expect(told).toMatchObject([{ lastReceivedAt: new Date(START + 2) }]);
    for (let n = 0; n < 9; n += 1) {
      await clock.advance(0.2 * HOUR);
      await others(4);
    }
    expect(told).toHaveLength(1);
    await receiver.close();
  });

  it('says nothing while the inbox cannot be asked', async () => {
    const inbox = sqliteInbox(scratchFile());
    const { clock, told, receiver } = watching(inbox);
    await inbox.close();
    await clock.advance(3 * HOUR);
    await rest();
    expect(told).toEqual([]);
    await receiver.close();
  });
});
