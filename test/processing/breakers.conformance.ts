import { expect, it } from 'vitest';
import { PermanentError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { ClaimedEvent, ClaimRequest, Settlement } from '../../src/inbox/work.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { START } from '../helpers/virtual-clock.ts';
import { pausing } from './handlers-pause.conformance.ts';

const DOWN = { name: 'ProviderError', message: 'the till is down', stack: null };
const PROBE_MS = 10_000;
const HOUR_MS = 3_600_000;
const READY = { type: 'order.ready' };

interface Told {
  readonly limit?: number;
  readonly isProbe?: boolean;
}

function failing(now: number, { limit = 2, isProbe = false }: Told = {}): Settlement {
  return {
    outcome: 'retry',
    error: DOWN,
    dueAt: now,
    isUncounted: isProbe,
    breaker: { limit, probeMs: PROBE_MS, isProbe },
  };
}

function working({ isProbe = false }: Told = {}): Settlement {
  return { outcome: 'processed', breaker: { limit: 2, probeMs: PROBE_MS, isProbe } };
}

/** @param early - how many attempts may begin before the second failure is written */
export function testBreakers(open: () => Promise<Inbox>, early = 2): void {
  const request: ClaimRequest = {
    endpoints: '*',
    types: '*',
    ordered: true,
    leaseMs: 60_000,
    now: START,
    probes: { 'order.created': 90_000 },
  };
  const claim = (inbox: Inbox, now: number, rest: Partial<ClaimRequest> = {}, limit = 10) =>
    inbox.claim({ ...request, ...rest, now }, limit);
  const idsAt = async (...given: Parameters<typeof claim>) => (await claim(...given)).map(({ id }) => id).toSorted();
  const settle = (inbox: Inbox, event: ClaimedEvent | undefined, settlement: Settlement, now: number) =>
    event === undefined ? Promise.resolve(false) : inbox.settle(event.lease, settlement, now);

  /** Two failures in a row, so the type waits until `START + PROBE_MS`. */
  async function opened(...more: readonly string[]): Promise<Inbox> {
    const inbox = await open();
    await store(inbox, ...['one', 'two', ...more].map((id) => orderEvent(id)));
    const [one, two] = await claim(inbox, START, {}, 2);
    expect(await settle(inbox, one, failing(START), START)).toBe(true);
    expect(await settle(inbox, two, failing(START), START)).toBe('breaker opened');
    return inbox;
  }

  /** The one event that may be claimed. */
  async function probeAt(inbox: Inbox, now: number): Promise<ClaimedEvent | undefined> {
    const claimed = await claim(inbox, now);
    expect(claimed.map(({ isProbe }) => isProbe)).toEqual([true]);
    return claimed[0];
  }

  it('opens after so many failures in a row: the type waits at its endpoint, and then one event probes', async () => {
    const inbox = await opened('three');
    await store(inbox, orderEvent('ready', READY), { ...orderEvent('there'), endpoint: 'shop-b' });
    expect(await idsAt(inbox, START + PROBE_MS - 1)).toEqual(['ready', 'there']);
    await store(inbox, orderEvent('four'));
    await probeAt(inbox, START + PROBE_MS);
    expect(await idsAt(inbox, START + PROBE_MS + 1)).toEqual([]);
  });

  it('a success between two failures keeps it closed', async () => {
    const inbox = await open();
    await store(inbox, ...['one', 'two', 'three'].map((id) => orderEvent(id)));
    const [one, two, three] = await claim(inbox, START);
    await settle(inbox, one, failing(START), START);
    await settle(inbox, two, working(), START);
    await settle(inbox, three, failing(START), START);
    expect(await idsAt(inbox, START + 1)).toEqual(['one', 'three']);
  });

  it('the probe’s success ends the pause, and all others run', async () => {
    const inbox = await opened('three');
    const probe = await probeAt(inbox, START + PROBE_MS);
    expect(await settle(inbox, probe, working({ isProbe: true }), START + PROBE_MS)).toBe('breaker closed');
    expect(await claim(inbox, START + PROBE_MS + 1)).toHaveLength(2);
  });

  it('the probe’s failure prolongs the pause and uses up no attempt; another failure does neither', async () => {
    const inbox = await open();
    await store(inbox, ...['one', 'two', 'slow'].map((id) => orderEvent(id)));
    const [one, two, slow] = await claim(inbox, START);
    await settle(inbox, one, failing(START), START);
    await settle(inbox, two, failing(START), START);
    expect(await settle(inbox, slow, failing(START + 5_000), START + 5_000)).toBe(true);
    const at = START + PROBE_MS;
    const probe = await probeAt(inbox, at);
    expect(await settle(inbox, probe, failing(at, { isProbe: true }), at)).toBe('probe failed');
    expect(await idsAt(inbox, at + PROBE_MS - 1)).toEqual([]);
    const [again] = await claim(inbox, at + PROBE_MS);
    expect(again?.isProbe).toBe(true);
    const seen = await Promise.all(
      ['one', 'two', 'slow'].map(async (id) => (await inbox.attempts({ endpoint: 'default', id })).length),
    );
    expect(seen.reduce((all, each) => all + each)).toBe(4);
    const failures = [again, ...(await claim(inbox, at + 2 * PROBE_MS))].map((event) => event?.failures);
    expect(failures).toEqual([1]);
  });

  it('a late success of an attempt that began before closes it', async () => {
    const inbox = await open();
    await store(inbox, ...['one', 'two', 'slow'].map((id) => orderEvent(id)));
    const [one, two, slow] = await claim(inbox, START);
    await settle(inbox, one, failing(START), START);
    await settle(inbox, two, failing(START), START);
    expect(await settle(inbox, slow, working(), START + 100)).toBe('breaker closed');
    expect(await idsAt(inbox, START + 200)).toEqual(['one', 'two']);
  });

  it('claims that ask together begin one probe', async () => {
    const inbox = await opened('three', 'four', 'five');
    const claims = await Promise.all(Array.from({ length: 8 }, () => claim(inbox, START + PROBE_MS, {}, 1)));
    expect(claims.flat()).toHaveLength(1);
  });

  it('a killed prober delays the next probe only for the time that its attempt may take', async () => {
    const inbox = await opened();
    await probeAt(inbox, START + PROBE_MS);
    expect(await idsAt(inbox, START + PROBE_MS + 89_999)).toEqual([]);
    await probeAt(inbox, START + PROBE_MS + 90_000);
    // Without the option, the lease counts.
    await probeAt(inbox, START + PROBE_MS + 180_000);
  });

  it.each<Settlement>([{ outcome: 'interrupted' }, { outcome: 'dead', reason: 'failed', error: DOWN }])(
    'a probe that ends without an answer lets another event probe at once: %j',
    async (end) => {
      const inbox = await opened('three');
      const at = START + PROBE_MS;
      const probe = await probeAt(inbox, at);
      const breaker = { limit: 2, probeMs: PROBE_MS, isProbe: true, isUnclear: true } as const;
      expect(await settle(inbox, probe, { ...end, breaker }, at)).toBe(true);
      await probeAt(inbox, at + 1);
    },
  );

  it('a probe is only taken by an event that may run now', async () => {
    const inbox = await open();
    await store(inbox, orderEvent('first', { order: 'ord_1' }), orderEvent('two'));
    for (const event of await claim(inbox, START)) await settle(inbox, event, failing(START), START);
    await store(inbox, orderEvent('behind', { order: 'ord_1', ...READY, createdAt: 1 }));
    const probe = await probeAt(inbox, START + PROBE_MS);
    await settle(inbox, probe, working({ isProbe: true }), START + PROBE_MS);
    expect((await claim(inbox, START + PROBE_MS + 1)).length).toBeGreaterThan(0);
  });

  it('of a handler’s pause and an open breaker, the later end counts, and then one event probes', async () => {
    const inbox = await open();
    await store(inbox, ...['one', 'two', 'three'].map((id) => orderEvent(id)));
    const [one, two, three] = await claim(inbox, START);
    await settle(inbox, one, failing(START), START);
    await settle(inbox, two, failing(START), START);
    await settle(inbox, three, pausing(3 * PROBE_MS, START), START);
    expect(await idsAt(inbox, START + 3 * PROBE_MS - 1)).toEqual([]);
    await probeAt(inbox, START + 3 * PROBE_MS);
  });

  it('a type without waiting events stays open for the next one', async () => {
    const inbox = await open();
    await store(inbox, orderEvent('one'), orderEvent('two'));
    const dead = {
      outcome: 'dead',
      reason: 'failed',
      error: DOWN,
      breaker: { limit: 2, probeMs: PROBE_MS, isProbe: false },
    } as const;
    for (const event of await claim(inbox, START)) await settle(inbox, event, dead, START);
    expect(await idsAt(inbox, START + HOUR_MS)).toEqual([]);
    await store(inbox, orderEvent('three'), orderEvent('four'));
    await probeAt(inbox, START + 2 * HOUR_MS);
  });

  it('all processes are away for hours: one event probes first', async () => {
    const inbox = await opened('three');
    await probeAt(inbox, START + 5 * HOUR_MS);
  });

  it('a clock that is set back moves the probe with it', async () => {
    const inbox = await opened();
    const back = START - 3 * HOUR_MS;
    expect(await idsAt(inbox, back)).toEqual([]);
    await probeAt(inbox, back + PROBE_MS + 1_000);
  });

  it('an event that arrives while it is open does not start at once', async () => {
    const inbox = await opened();
    const start = { now: START + PROBE_MS + 1, leaseMs: 60_000, ordered: true };
    expect(await inbox.accept(orderEvent('new'), later(), start)).not.toHaveProperty('started');
  });

  it('inline: a delivery is busy while it is open, and the probe afterwards', async () => {
    const inbox = await opened();
    const one = { endpoint: 'default', id: 'one' };
    expect(await inbox.claimOne(one, { ...request, now: START + 1 })).toBe('busy');
    expect(await inbox.claimOne(one, { ...request, now: START + PROBE_MS })).toMatchObject({
      id: 'one',
      isProbe: true,
    });
    expect(await inbox.claimOne({ ...one, id: 'two' }, { ...request, now: START + PROBE_MS })).toBe('busy');
  });

  it('a processor opens it, probes, and closes it; a PermanentError does not count', async () => {
    const inbox = await open();
    await store(inbox, ...Array.from({ length: 6 }, (_, n) => orderEvent(`evt_${n}`)));
    const runs: number[] = [];
    let isDown = true;
    const { logger, lines } = recordedLog();
    await using worker = createProcessor({
      inbox,
      logger,
      processing: { concurrency: 1, retry: { baseMs: 1, maxMs: 1 } },
      handlers: {
        'order.created': {
          breaker: { failures: 2, probeMs: 150 },
          handle({ id }) {
            if (id === 'evt_0') throw new PermanentError('never');
            runs.push(Date.now());
            if (isDown) throw new Error('down');
          },
        },
      },
    });
    await worker.start();
    await expect.poll(() => runs.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(early + 2);
    isDown = false;
    const failed = runs.length;
    expect((runs[failed - 1] ?? 0) - (runs[failed - 2] ?? 0)).toBeGreaterThanOrEqual(140);
    await expect.poll(() => runs.length, { timeout: 20_000 }).toBe(failed + 5);
    await expect
      .poll(async () => (await inbox.get({ endpoint: 'default', id: 'evt_5' }))?.state, { timeout: 10_000 })
      .toBe('processed');
    const told = lines.flatMap(({ level, message, facts }) =>
      message.includes('breaker') ? [[level, message.split(':')[0], facts['type']]] : [],
    );
    expect(told.slice(0, 2)).toEqual([
      ['warn', 'breaker opened', 'order.created'],
      ['warn', 'breaker stays open', 'order.created'],
    ]);
    expect(told.at(-1)).toEqual(['info', 'breaker closed', 'order.created']);
  });
}
