import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { ClaimRequest, Rates, Settlement } from '../../src/inbox/work.ts';
import { START } from '../helpers/virtual-clock.ts';
import { claimOne, inbox, LEASE_MS, openers, PROCESSED, type Parts } from './inbox-under-test.ts';

const READY = 'order.ready';
const AGAIN: Settlement = { outcome: 'retry', error: { name: 'Error', message: 'fails', stack: null }, dueAt: START };
const ready = (n: number, parts: Parts = {}): Parts => ({ id: `r${n}`, type: READY, entity: null, ...parts });
const many = (count: number, parts: Parts = {}): readonly Parts[] =>
  Array.from({ length: count }, (_, n) => ready(n, parts));

interface Begun {
  readonly ids: readonly string[];
  readonly freeAt: number | null;
}

export function testRates(name: string, open: () => Inbox): void {
  const { holding: holdingDue } = openers(open);
  const holding = (...events: readonly Parts[]) =>
    holdingDue(...events.map((event) => ({ receivedAt: START, ...event })));

  /** Claims, and settles what it has claimed. */
  async function begin(
    now: number,
    rates: Rates = { [READY]: { count: 3, perMs: 1_000 } },
    {
      settlement = PROCESSED,
      limit = 100,
      ...more
    }: Partial<ClaimRequest> & { settlement?: Settlement; limit?: number } = {},
  ): Promise<Begun> {
    let freeAt: number | null = null;
    const request = { endpoints: '*', types: '*', named: [READY], ordered: true, leaseMs: LEASE_MS, rates } as const;
    const claimed = await inbox.claim({ ...request, ...more, now }, limit, undefined, (at) => (freeAt = at));
    for (const { lease } of claimed) expect(await inbox.settle(lease, settlement, now)).toBe(true);
    return { ids: claimed.map(({ id }) => id).toSorted(), freeAt };
  }
  const countAt = async (...given: Parameters<typeof begin>) => (await begin(...given)).ids.length;

  describe(`${name}: the rate of a type`, () => {
    it('lets no more attempts begin in any span, and tells when the next one may begin', async () => {
      await holding(...many(9), { id: 'other', entity: null });
      expect(await begin(START + 10)).toEqual({ ids: ['other', 'r0', 'r1', 'r2'], freeAt: START + 1_010 });
      expect(await begin(START + 1_009)).toEqual({ ids: [], freeAt: START + 1_010 });
      expect(await begin(START + 1_010)).toEqual({ ids: ['r3', 'r4', 'r5'], freeAt: START + 2_010 });
    });

    it('is a sliding span: a place is free one span after its attempt began', async () => {
      await holding(...many(9));
      for (const at of [0, 300, 600]) expect(await countAt(START + 10 + at, undefined, { limit: 1 })).toBe(1);
      expect(await begin(START + 900)).toEqual({ ids: [], freeAt: START + 1_010 });
      expect(await begin(START + 1_010)).toEqual({ ids: ['r3'], freeAt: START + 1_310 });
      expect(await begin(START + 1_400)).toEqual({ ids: ['r4'], freeAt: START + 1_610 });
    });

    it('is not reached by fewer attempts, and then there is no time to wait for', async () => {
      await holding(...many(2));
      expect(await begin(START + 10)).toEqual({ ids: ['r0', 'r1'], freeAt: null });
      expect(await begin(START + 20)).toEqual({ ids: [], freeAt: null });
    });

    it.each([['*'], [['default', 'shop-b']]] as const)(
      'is one of each endpoint, for a claim of %j',
      async (endpoints) => {
        await holding(...many(4), ...many(4, { endpoint: 'shop-b' }));
        const { ids } = await begin(START + 10, undefined, { endpoints });
        expect(ids).toEqual(['r0', 'r0', 'r1', 'r1', 'r2', 'r2']);
      },
    );

    it('is shared by all types without their own handler, and by no type that has one', async () => {
      const other = (n: number, type: string) => ({ id: `o${n}`, type, entity: null });
      await holding(
        ...many(4),
        ...many(4, { endpoint: 'shop-b' }),
        other(1, 'cart.abandoned'),
        other(2, 'order.created'),
        other(3, 'shop.own'),
      );
      const rates = { '*': { count: 2, perMs: 1_000 } };
      expect((await begin(START + 10, rates)).ids).toEqual([
        'o1',
        'o2',
        'r0',
        'r0',
        'r1',
        'r1',
        'r2',
        'r2',
        'r3',
        'r3',
      ]);
      expect(await begin(START + 20, rates)).toEqual({ ids: [], freeAt: START + 1_010 });
      expect((await begin(START + 1_010, rates)).ids).toEqual(['o3']);
    });

    it('is kept for a type with a long name', async () => {
      const type = `shop.${'long'.repeat(50)}`;
      await holding(...many(3, { type }));
      const rates = { [type]: { count: 2, perMs: 1_000 } };
      expect((await begin(START + 10, rates, { named: [type] })).ids).toEqual(['r0', 'r1']);
      expect(await claimOne({ endpoint: 'default', id: 'r2' }, START + 20, { rates })).toBe('busy');
      expect((await begin(START + 1_010, rates, { types: [type], named: [] })).ids).toEqual(['r2']);
    });

    it('holds for retries, reruns and events whose process died, and an event keeps its place', async () => {
      await holding(ready(0), ready(1, { receivedAt: START + 100 }));
      const rates = { [READY]: { count: 1, perMs: 100 } };
      const dueNow = { settlement: AGAIN };
      expect((await begin(START + 200, rates, dueNow)).ids).toEqual(['r0']);
      expect((await begin(START + 250, rates, dueNow)).ids).toEqual([]);
      expect((await begin(START + 300, rates)).ids).toEqual(['r0']);
      const key = { endpoint: 'default', id: 'r0' };
      await inbox.claim({ endpoints: '*', types: '*', ordered: true, leaseMs: 1, rates, now: START + 400 }, 1);
      expect((await begin(START + 450, rates)).ids).toEqual([]);
      expect((await begin(START + 500, rates)).ids).toEqual(['r1']);
      expect(await inbox.attempts({ ...key, id: 'r1' })).toMatchObject([
        { outcome: 'crashed' },
        { outcome: 'processed' },
      ]);
    });

    it('holds back newer events of the entity of one that waits', async () => {
      await holding(...many(2, { entity: 'order:1' }), {
        id: 'newer',
        entity: 'order:1',
        created: { ms: START * 2, ns: 0 },
      });
      const rates = { [READY]: { count: 1, perMs: 1_000 } };
      expect((await begin(START + 10, rates)).ids).toEqual(['r0']);
      expect((await begin(START + 20, rates)).ids).toEqual([]);
      expect((await begin(START + 1_020, rates)).ids).toEqual(['r1']);
      expect((await begin(START + 1_030, rates)).ids).toEqual(['newer']);
    });

    it('is reached however short its span is, and however many attempts begin', async () => {
      await holding(...many(60));
      const short = { [READY]: { count: 20, perMs: 100 } };
      const begun = [];
      for (let ms = 1; ms <= 210; ms += 1) begun.push(await countAt(START + 60 + ms, short, { limit: 2 }));
      expect(begun.reduce((sum, count) => sum + count)).toBe(60);
      for (const at of begun.keys()) {
        expect(begun.slice(at, at + 100).reduce((sum, count) => sum + count)).toBeLessThanOrEqual(20);
      }
    });

    it('keeps few numbers for many attempts, and is kept all the same', async () => {
      await holding(...many(300));
      const rates = { [READY]: { count: 250, perMs: 30_000 } };
      for (let n = 0; n < 250; n += 1) await begin(START + 300 + 100 * n, rates, { limit: 1 });
      expect(await countAt(START + 29_999, rates)).toBe(0);
      const { ids, freeAt } = await begin(START + 30_300, rates);
      expect(ids.length).toBeLessThanOrEqual(1);
      expect(freeAt).toBeLessThanOrEqual(START + 30_300 + 30_000 / 64);
      expect(await countAt(START + 60_300 - 100, rates)).toBeGreaterThanOrEqual(45);
    });

    it('does not wait for attempts from before the clock was set back', async () => {
      const hour = 3_600_000;
      await holding(...many(9));
      expect(await countAt(START + hour)).toBe(3);
      const { ids, freeAt } = await begin(START + 10_000);
      expect(ids).toEqual([]);
      expect(freeAt).toBe(START + 11_000);
      expect(await begin(START + 10_500)).toEqual({ ids: [], freeAt: START + 11_000 });
      expect(await countAt(START + 11_000)).toBe(3);
    });

    it('is that of each process in a deploy, which counts the attempts of both', async () => {
      await holding(...many(20));
      const slow = { [READY]: { count: 2, perMs: 10_000 } };
      const quick = { [READY]: { count: 4, perMs: 1_000 } };
      expect(await countAt(START + 100, quick)).toBe(4);
      expect(await countAt(START + 5_000, slow)).toBe(0);
      expect(await countAt(START + 10_100, slow)).toBe(2);
      expect(await countAt(START + 10_200, quick)).toBe(2);
      expect(await countAt(START + 13_000, quick)).toBe(4);
      expect(await countAt(START + 20_150, slow)).toBe(0);
      expect(await countAt(START + 23_000, slow)).toBe(2);
    });

    it('is kept in inline mode: an event above it is busy, and runs later', async () => {
      await holding(...many(2), { id: 'other', entity: null });
      const rates = { [READY]: { count: 1, perMs: 1_000 } };
      const run = (id: string, now: number) => claimOne({ endpoint: 'default', id }, now, { rates });
      expect(await run('r0', START + 10)).toMatchObject({ id: 'r0' });
      expect(await run('r1', START + 1_009)).toBe('busy');
      expect(await run('other', START + 1_009)).toMatchObject({ id: 'other' });
      expect(await begin(START + 1_009, rates)).toEqual({ ids: [], freeAt: START + 1_010 });
      expect(await run('r1', START + 1_010)).toMatchObject({ id: 'r1' });
    });
  });
}
