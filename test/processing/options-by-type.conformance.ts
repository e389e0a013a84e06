import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { AttemptError, ClaimRequest, LogLine, Settlement } from '../../src/inbox/work.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import {
  claim,
  claimIds,
  handleAll,
  inbox,
  LEASE_MS,
  leaseOf,
  openers,
  PROCESSED,
  type Parts,
} from './inbox-under-test.ts';

const ERROR: AttemptError = { name: 'Error', message: 'no such order', stack: null };
const line = (text: string): LogLine => ({ afterMs: 0, level: 'info', text });
const RAN = { limit: 20, processor: '4711-“a”' };
const OLDEST = incoming().created?.ms ?? 0;

export function testOptionsByType(name: string, open: () => Inbox): void {
  const { holding: holdingDue } = openers(open);
  const holding = (...events: Parts[]) => holdingDue(...events.map((event) => ({ receivedAt: START, ...event })));

  /** `old` has failed, and `new` is the newer event of its entity. */
  async function failed(yields: boolean | undefined, dueAt = START + 100): Promise<void> {
    await holding(
      { id: 'old' },
      { id: 'new', created: { ms: OLDEST + 1, ns: 0 } },
      { id: 'newest', created: { ms: OLDEST + 2, ns: 0 } },
    );
    await fail('old', START, { yields, dueAt });
  }

  async function fail(id: string, now: number, { yields, dueAt }: { yields: boolean | undefined; dueAt: number }) {
    const [claimed] = await claim(now, { limit: 1 });
    expect(claimed?.id).toBe(id);
    const settlement: Settlement = { outcome: 'retry', error: ERROR, dueAt, ...(yields !== undefined && { yields }) };
    expect(await inbox.settle(leaseOf(claimed), settlement, now)).toBe(true);
  }

  describe(`${name}: an event that has failed`, () => {
    it('holds newer ones of its entity back, unless it yields', async () => {
      for (const yields of [undefined, false]) {
        await failed(yields);
        expect(await claimIds(START + 50)).toEqual([]);
        expect(await claimIds(START + 100)).toEqual(['old']);
      }
    });

    it('that yields lets newer ones pass, in their order, and is told that it is superseded', async () => {
      await failed(true);
      expect(await handleAll(START + 50)).toEqual(['new', 'newest']);
      const [old] = await claim(START + 100);
      expect(old).toMatchObject({ id: 'old', superseded: true, failures: 1 });
    });

    it('that yields does not run beside another of its entity, and runs once that has ended', async () => {
      await failed(true);
      const [newer] = await claim(START + 50);
      expect(newer?.id).toBe('new');
      expect(await claimIds(START + 150)).toEqual([]);
      await inbox.settle(leaseOf(newer), PROCESSED, START + 160);
      expect(await handleAll(START + 160)).toEqual(['newest', 'old']);
    });

    it('that yields does so through a crash and a close, until it fails without', async () => {
      await failed(true, START);
      const [old] = await claim(START, { limit: 1 });
      await inbox.settle(leaseOf(old), { outcome: 'interrupted' }, START);
      await claim(START, { limit: 1 });
      // It is a suspect now, which is freed with its lease; the others do not wait for it.
      const [next] = await claim(START + LEASE_MS, { limit: 1 });
      expect(next?.id).toBe('new');
      await inbox.settle(leaseOf(next), PROCESSED, START + LEASE_MS);
      expect(await claimIds(START + LEASE_MS, { limit: 1 })).toEqual(['newest']);
      const later = START + 2 * LEASE_MS;
      await fail('old', later, { yields: false, dueAt: START + 5_000 });
      expect(await claimIds(START + 4_000)).toEqual([]);
      expect(await handleAll(START + 5_000)).toEqual(['old', 'newest']);
    });

    it('that yields waits for an older one that does not', async () => {
      await holding({ id: 'middle', created: { ms: OLDEST + 1, ns: 0 } });
      await fail('middle', START, { yields: true, dueAt: START + 10 });
      await inbox.accept(incoming({ id: 'late', receivedAt: START + 5 }), later());
      const [late] = await claim(START + 20);
      expect(late?.id).toBe('late');
      await inbox.settle(leaseOf(late), { outcome: 'retry', error: ERROR, dueAt: START + 200 }, START + 20);
      expect(await claimIds(START + 50)).toEqual([]);
      expect(await handleAll(START + 200)).toEqual(['late', 'middle']);
    });

    it('holds back again once it was rerun', async () => {
      await failed(true);
      for (const { id, lease } of await claim(START + 100, { ordered: false })) {
        const dead: Settlement = { outcome: 'dead', reason: 'failed', error: ERROR };
        await inbox.settle(lease, id === 'old' ? dead : PROCESSED, START + 100);
      }
      const { type, created, entity } = incoming();
      expect(await inbox.rerun({ endpoint: 'default', id: 'old' }, { type, created, entity }, START + 500)).toBe(true);
      await inbox.accept(incoming({ id: 'late', created: { ms: OLDEST + 9, ns: 0 }, receivedAt: START }), later());
      expect(await handleAll(START + 500)).toEqual(['old', 'late']);
    });
  });

  describe(`${name}: a claim with room for some types`, () => {
    const backlog = [
      ...Array.from({ length: 12 }, (_, n) => ({ id: `slow_${n}`, type: 'order.ready', entity: null })),
      { id: 'quick_1', type: 'order.created', entity: null },
      { id: 'other_1', type: 'cart.abandoned', entity: null },
      { id: 'other_2', type: 'order.refunded', entity: null },
    ];
    const types = ['order.ready', 'order.created'];

    it.each<[string, Partial<ClaimRequest>, readonly string[]]>([
      [
        'takes no more of one than that, and goes on with others',
        { types, room: { 'order.ready': 2, 'order.created': 9 } },
        ['slow_0', 'slow_1', 'quick_1'],
      ],
      ['takes none where there is none', { types, room: { 'order.ready': 0, 'order.created': 9 } }, ['quick_1']],
      [
        'does so where it takes every type',
        { types: '*', room: { 'order.ready': 1, '*': 9 } },
        ['slow_0', 'quick_1', 'other_1', 'other_2'],
      ],
      [
        'counts types without a handler of their own together',
        { types: '*', room: { 'order.ready': 0, 'order.created': 0, '*': 1 } },
        ['other_1'],
      ],
      [
        'takes only those with one where there is none for the others',
        { types: '*', room: { 'order.ready': 1, 'order.created': 1, '*': 0 } },
        ['slow_0', 'quick_1'],
      ],
      ['takes nothing where all are full', { types: '*', room: { 'order.ready': 0, '*': 0 } }, []],
    ])('%s', async (_, request, expected) => {
      await holding(...backlog);
      const claimed = await claimIds(START, { limit: 10, ...request });
      expect(claimed.toSorted()).toEqual([...expected].toSorted());
    });

    it('still has an event wait for an older one that there is no room for', async () => {
      await holding(
        { id: 'older', type: 'order.ready' },
        { id: 'newer', type: 'order.created', created: { ms: OLDEST + 1, ns: 0 } },
      );
      expect(await claimIds(START, { types, room: { 'order.ready': 0, 'order.created': 1 } })).toEqual([]);
    });
  });

  describe(`${name}: why a handler let its event go by`, () => {
    it('is kept with the attempt, and pruned with the rest', async () => {
      await holding({ id: 'evt_1' }, { id: 'evt_2', entity: null });
      for (const { id, lease } of await claim(START)) {
        await inbox.settle(lease, { outcome: 'processed', ...(id === 'evt_1' && { skipped: 'not ours' }) }, START);
      }
      const attempts = (id: string) => inbox.attempts({ endpoint: 'default', id });
      expect(await attempts('evt_1')).toMatchObject([{ outcome: 'processed', error: null, skipped: 'not ours' }]);
      expect((await attempts('evt_2')).map(({ skipped }) => skipped)).toEqual([undefined]);
      expect((await inbox.get({ endpoint: 'default', id: 'evt_1' }))?.state).toBe('processed');
      await inbox.prune('*', START + 1, 10);
      expect(await attempts('evt_1')).toMatchObject([{ outcome: 'processed', error: null }]);
      expect((await attempts('evt_1')).map(({ skipped }) => skipped)).toEqual([undefined]);
    });

    it('is kept with an attempt that a transaction has ended', async () => {
      await holding({ id: 'evt_1' });
      const [claimed] = await claim(START);
      const { signal } = new AbortController();
      let reason: string | undefined;
      const work = (): string => (reason = 'seen before');
      const log = () => [line(String(reason))];
      const attempt = { now: () => START, signal, skipped: () => reason, log, ...RAN };
      await inbox.transaction(leaseOf(claimed), work, attempt);
      const expected = {
        outcome: 'processed',
        error: null,
        skipped: 'seen before',
        log: [line('seen before')],
        ...RAN,
      };
      const attempts = () => inbox.attempts({ endpoint: 'default', id: 'evt_1' });
      expect(await attempts()).toMatchObject([expected]);
      await inbox.settle(leaseOf(claimed), { outcome: 'committed', log: [line('later')] }, START);
      expect(await attempts()).toMatchObject([expected]);
    });

    it('and the lines of its log are kept with the error that it threw after its transaction', async () => {
      await holding({ id: 'evt_1' });
      const [claimed] = await claim(START);
      const { signal } = new AbortController();
      await inbox.transaction(leaseOf(claimed), () => {}, { now: () => START, signal });
      await inbox.settle(leaseOf(claimed), { outcome: 'committed', error: ERROR, log: [line('late')] }, START);
      const [attempt] = await inbox.attempts({ endpoint: 'default', id: 'evt_1' });
      expect(attempt).toMatchObject({ outcome: 'processed', error: ERROR, log: [line('late')] });
    });
  });

  describe(`${name}: what an attempt has logged, and what ran it`, () => {
    const ended: readonly Settlement[] = [
      PROCESSED,
      { outcome: 'retry', error: ERROR, dueAt: START },
      { outcome: 'dead', reason: 'failed', error: ERROR },
      { outcome: 'interrupted' },
    ];

    it('is kept with it, however it ended, and pruned with the rest', async () => {
      await holding(...ended.map((_, n) => ({ id: `evt_${n}`, entity: null })));
      const attemptsOf = (n: number) => inbox.attempts({ endpoint: 'default', id: `evt_${n}` });
      const log = [line('“late” \\u{0}'), { afterMs: 30, level: 'warn', text: '山' } as const];
      for (const [n, { lease }] of (await claim(START)).entries()) {
        await inbox.settle(lease, { ...(ended[n] ?? PROCESSED), log, ...RAN }, START);
      }
      for (const n of ended.keys()) expect(await attemptsOf(n)).toMatchObject([{ log, ...RAN }]);
      await inbox.prune('*', START + 1, 10);
      expect((await attemptsOf(0)).map(({ log, processor }) => [log, processor])).toEqual([[undefined, RAN.processor]]);
      const [again] = await claim(START);
      await inbox.settle(leaseOf(again), PROCESSED, START);
      const attempts = await inbox.attempts({ endpoint: 'default', id: again?.id ?? '' });
      expect(attempts.map((attempt) => ['log' in attempt, 'limit' in attempt, 'processor' in attempt])).toEqual([
        [true, true, true],
        [false, false, false],
      ]);
    });

    it('and what ran it is kept without a line of the log, too', async () => {
      await holding({ id: 'evt_1' });
      const [claimed] = await claim(START);
      await inbox.settle(leaseOf(claimed), { ...PROCESSED, ...RAN }, START);
      expect(await inbox.attempts({ endpoint: 'default', id: 'evt_1' })).toMatchObject([RAN]);
    });

    it('is not that of an attempt whose lease was lost', async () => {
      await holding({ id: 'evt_1' });
      const [first] = await claim(START);
      const [second] = await claim(START + LEASE_MS + 1);
      expect(await inbox.settle(leaseOf(first), { outcome: 'interrupted', log: [line('stale')] }, START)).toBe(false);
      await inbox.settle(leaseOf(second), { outcome: 'processed', log: [line('fresh')] }, START + LEASE_MS + 2);
      const attempts = await inbox.attempts({ endpoint: 'default', id: 'evt_1' });
      expect(attempts.map(({ outcome, log }) => [outcome, log])).toEqual([
        ['crashed', undefined],
        ['processed', [line('fresh')]],
      ]);
    });
  });
}

export function testTraces(name: string, open: () => Inbox): void {
  const { empty } = openers(open);

  describe(`${name}: the trace of a delivery`, () => {
    const first = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const second = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00 shop=7`;
    const traceOf = async () => (await claim(START))[0]?.trace;

    it('comes with the claim', async () => {
      empty();
      await inbox.accept(incoming({ receivedAt: START, trace: first }), later());
      expect(await traceOf()).toBe(first);
    });

    it.each([
      ['is that of the body that counts', second, second],
      ['stays where the delivery that replaced it was not traced', undefined, first],
    ])('%s', async (_, trace, expected) => {
      empty();
      await inbox.accept(incoming({ receivedAt: START, verified: false, trace: first }), later());
      await inbox.accept(
        incoming({ receivedAt: START, body: '{"other":1}', ...(trace !== undefined && { trace }) }),
        later(),
      );
      expect(await traceOf()).toBe(expected);
    });

    it('is not that of a body that does not count', async () => {
      empty();
      await inbox.accept(incoming({ receivedAt: START, trace: first }), later());
      await inbox.accept(incoming({ receivedAt: START, body: '{"other":1}', trace: second }), later());
      expect(await traceOf()).toBe(first);
    });
  });
}
