import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { EVERYTHING, type AttemptError, type Quiet, type Settlement } from '../../src/inbox/work.ts';
import { START } from '../helpers/virtual-clock.ts';
import {
  at,
  claim,
  claimIds,
  inbox,
  LEASE_MS,
  leaseOf,
  openers,
  outcomes,
  PROCESSED,
  stateOf,
  store,
  type Claim,
  type Parts,
} from './inbox-under-test.ts';

const ERROR: AttemptError = { name: 'Error', message: 'fails', stack: null };
const TYPE = 'inventory.updated';
const NONE: Quiet = { quietMs: 0, maxMs: 0 };
const LATER = START + 100;
const HOUR_MS = 3_600_000;
const latest = (quiet: Quiet = NONE): Claim => ({ latest: { [TYPE]: quiet } });
const figure = (n: number, parts: Parts = {}): Parts => ({
  id: `evt_${n}`,
  type: TYPE,
  created: at(n),
  receivedAt: START + n,
  ...parts,
});
const figures = (...numbers: readonly number[]): Parts[] => numbers.map((n) => figure(n));

export function testLatest(name: string, open: () => Inbox): void {
  const { holding } = openers(open);
  const retry = (dueAt: number, yields = false): Settlement => ({ outcome: 'retry', error: ERROR, dueAt, yields });

  async function settle(id: string, settlement: Settlement, now = LATER, asked = latest()): Promise<void> {
    const [claimed] = await claim(now, { ...asked, limit: 1 });
    expect(claimed?.id).toBe(id);
    expect(await inbox.settle(leaseOf(claimed), settlement, now)).toBe(true);
  }
  async function states(...numbers: readonly number[]): Promise<readonly (string | undefined)[]> {
    return Promise.all(numbers.map((n) => stateOf(`evt_${n}`)));
  }

  describe(`${name}: the latest of a burst`, () => {
    it('runs alone, and the others become processed without a run', async () => {
      await holding(...figures(1, 3, 2));
      const claimed = await claim(LATER, latest());
      expect(claimed).toMatchObject([{ id: 'evt_3', attempt: 1, superseded: false }]);
      expect(await states(1, 2, 3)).toEqual(['processed', 'processed', 'processing']);
      const line = { number: 1, trigger: 'auto', outcome: 'superseded', skipped: 'superseded by evt_3', error: null };
      expect(await inbox.attempts({ endpoint: 'default', id: 'evt_1' })).toMatchObject([line]);
      expect(await claimIds(LATER, latest())).toEqual([]);
    });

    it('tells how many events it superseded, and nothing of a claim that superseded none', async () => {
      await holding(...figures(1, 2, 3), figure(4, { entity: null }));
      const told: unknown[] = [];
      const ask = () =>
        inbox.claim(
          { ...EVERYTHING, leaseMs: LEASE_MS, ordered: true, now: LATER, ...latest() },
          10,
          undefined,
          undefined,
          (superseded) => told.push(...superseded),
        );
      expect((await ask()).map(({ id }) => id).toSorted()).toEqual(['evt_3', 'evt_4']);
      expect(await ask()).toEqual([]);
      expect(told).toEqual([{ endpoint: 'default', type: TYPE, count: 2 }]);
    });

    it('is told from a burst of the same instant by its arrival', async () => {
      await holding(figure(1, { created: at(1) }), figure(2, { created: at(1) }));
      expect(await claimIds(LATER, latest())).toEqual(['evt_2']);
    });

    it('is found in a long burst, in a few claims', async () => {
      await holding(...figures(...Array.from({ length: 450 }, (_, n) => n)));
      expect(await claimIds(START + 500, { ...latest(), limit: 3 })).toEqual(['evt_449']);
      expect(await outcomes('evt_0')).toEqual(['superseded']);
    });

    it('is one for each type, entity and endpoint', async () => {
      const others = ['order.created', 'order.ready'].map((type, n) => figure(9 + n, { type }));
      const elsewhere = [
        figure(2, { id: 'other entity', entity: 'b' }),
        figure(2, { endpoint: 'b' }),
        figure(2, { id: 'none', entity: null }),
        figure(1, { id: 'none either', entity: null }),
      ];
      await holding(...figures(1, 2), ...elsewhere, ...others);
      expect((await claimIds(LATER, latest())).toSorted()).toEqual([
        'evt_2',
        'evt_2',
        'none',
        'none either',
        'other entity',
      ]);
    });

    it('is not asked for by a claim without the option, or of another type', async () => {
      await holding(...figures(1, 2));
      expect(await claimIds(LATER, { latest: { 'order.ready': NONE } })).toEqual(['evt_1']);
      await holding(...figures(1, 2));
      expect(await claimIds(LATER, { latest: { '*': NONE, [TYPE]: null } })).toEqual(['evt_1']);
      await holding(...figures(1, 2));
      expect(await claimIds(LATER, { latest: { '*': NONE } })).toEqual(['evt_2']);
      await holding(figure(1, { type: 'constructor' }), figure(2, { type: 'constructor' }));
      expect(await claimIds(LATER, latest())).toEqual(['evt_1']);
    });

    it('is found for a type and an entity with a long name', async () => {
      const [type, entity] = [`shop.${'long'.repeat(50)}`, 'e'.repeat(400)];
      await holding(...[1, 2].map((n) => figure(n, { type, entity })));
      expect(await claimIds(LATER, { latest: { '*': null, [type]: NONE } })).toEqual(['evt_2']);
      await holding(...[1, 2].map((n) => figure(n, { type, entity })));
      expect(await claimIds(LATER, { latest: { '*': NONE, [type]: null } })).toEqual(['evt_1']);
    });

    it('keeps its place behind an event of another type', async () => {
      await holding(figure(1), figure(2, { type: 'order.cancelled' }), figure(3), figure(4));
      await settle('evt_2', PROCESSED);
      expect(await outcomes('evt_1')).toEqual(['superseded']);
      await settle('evt_4', PROCESSED);
      expect(await states(1, 2, 3, 4)).toEqual(Array(4).fill('processed'));
    });

    it('waits for another type that fails, and still runs alone', async () => {
      await holding(figure(1, { type: 'order.cancelled' }), ...figures(2, 3));
      await settle('evt_1', retry(LATER + HOUR_MS));
      expect(await claimIds(LATER + 1, latest())).toEqual([]);
      await store(figure(4));
      expect(await claimIds(LATER + 1, latest())).toEqual([]);
      await settle('evt_1', PROCESSED, LATER + HOUR_MS);
      expect(await claimIds(LATER + HOUR_MS, latest())).toEqual(['evt_4']);
    });

    it('leaves the one that runs alone, and supersedes those that come meanwhile', async () => {
      await holding(figure(1));
      const [running] = await claim(LATER, latest());
      await store(...figures(2, 3));
      expect(await claimIds(LATER, latest())).toEqual([]);
      await inbox.settle(leaseOf(running), PROCESSED, LATER);
      expect(await claimIds(LATER, latest())).toEqual(['evt_3']);
      expect([await outcomes('evt_1'), await outcomes('evt_2')]).toEqual([['processed'], ['superseded']]);
    });

    it.each([false, true])('supersedes one that has failed, which yields: %s', async (yields) => {
      await holding(figure(1));
      await settle('evt_1', retry(LATER + HOUR_MS, yields));
      await store(...figures(2, 3));
      expect(await claimIds(LATER + 1, latest())).toEqual(['evt_3']);
      expect(await inbox.attempts({ endpoint: 'default', id: 'evt_1' })).toMatchObject([
        { number: 1, outcome: 'failed' },
        { number: 2, outcome: 'superseded', skipped: 'superseded by evt_3' },
      ]);
    });

    it('that has failed waits for its next attempt, and supersedes an older one that comes late', async () => {
      await holding(figure(2));
      await settle('evt_2', retry(LATER + HOUR_MS));
      await store(figure(1));
      expect(await claimIds(LATER + 1, latest())).toEqual([]);
      expect(await outcomes('evt_1')).toEqual(['superseded']);
      expect(await claimIds(LATER + HOUR_MS, latest())).toEqual(['evt_2']);
    });

    it('supersedes a suspect, and is one among others', async () => {
      await holding(figure(1));
      await claim(LATER, latest());
      await store(figure(2));
      expect(await claimIds(LATER + LEASE_MS, latest())).toEqual(['evt_2']);
      expect(await outcomes('evt_1')).toEqual(['crashed', 'superseded']);
    });

    it('runs after an old one that was processed, and supersedes nothing that was rerun', async () => {
      await holding(...figures(1, 2));
      await settle('evt_2', { outcome: 'dead', reason: 'failed', error: ERROR });
      const content = { type: TYPE, entity: 'order::ord_1' };
      await inbox.rerun({ endpoint: 'default', id: 'evt_2' }, { ...content, created: at(2) }, LATER);
      await store(...figures(3, 4));
      await settle('evt_2', PROCESSED);
      await settle('evt_4', PROCESSED);
      expect(await outcomes('evt_3')).toEqual(['superseded']);
    });

    it('runs in any order where order does not matter', async () => {
      await holding(figure(1), figure(2, { type: 'order.cancelled' }), figure(3));
      const claimed = await claimIds(LATER, { ...latest(), ordered: false });
      expect(claimed.toSorted()).toEqual(['evt_2', 'evt_3']);
      expect(await outcomes('evt_1')).toEqual(['superseded']);
    });

    it('is claimed within the limit and the room of its type', async () => {
      await holding(...figures(1, 2), ...[1, 2].map((n) => figure(n, { id: `b_${n}`, entity: 'b' })));
      expect(await claimIds(LATER, { ...latest(), limit: 1 })).toHaveLength(1);
      expect(await claimIds(LATER, { ...latest(), room: { [TYPE]: 0 } })).toEqual([]);
      expect(await claimIds(LATER, { ...latest(), room: { [TYPE]: 1 } })).toHaveLength(1);
    });
  });

  describe(`${name}: the latest of a burst that waits for quiet`, () => {
    const quiet = latest({ quietMs: 1_000, maxMs: 5_000 });

    it.each([true, false])('runs once no newer one has come for that long, in order: %s', async (ordered) => {
      await holding(figure(0));
      const asked = { ...quiet, ordered };
      expect(await claimIds(START + 10, asked)).toEqual([]);
      await store(figure(500));
      expect(await claimIds(START + 500, asked)).toEqual([]);
      expect(await claimIds(START + 1_000, asked)).toEqual([]);
      expect(await states(0, 500)).toEqual(['pending', 'pending']);
      expect(await inbox.nextDue({ endpoints: '*', types: '*' })).toBe(START + 1_500);
      expect(await claimIds(START + 1_499, asked)).toEqual([]);
      expect(await claimIds(START + 1_500, asked)).toEqual(['evt_500']);
      expect(await outcomes('evt_0')).toEqual(['superseded']);
    });

    it('does not wait longer than it may after the oldest one', async () => {
      await holding(figure(0));
      for (let ms = 0; ms < 5_000; ms += 500) {
        if (ms > 0) await store(figure(ms));
        expect(await claimIds(START + ms, quiet)).toEqual([]);
      }
      await store(figure(4_900));
      expect(await claimIds(START + 4_999, quiet)).toEqual([]);
      expect(await claimIds(START + 5_000, quiet)).toEqual(['evt_4900']);
    });

    it('nor in a burst that needs several transactions', async () => {
      await holding(...figures(...Array.from({ length: 450 }, (_, n) => n)), figure(4_900));
      expect(await claimIds(START + 5_000, quiet)).toEqual(['evt_4900']);
      expect(await outcomes('evt_449')).toEqual(['superseded']);
    });

    it('does not wait if it has waited already', async () => {
      await holding(...figures(1, 2));
      expect(await claimIds(START + HOUR_MS, quiet)).toEqual(['evt_2']);
    });

    it('supersedes one that has failed at once, but waits itself', async () => {
      await holding(figure(0));
      await settle('evt_0', retry(START + HOUR_MS), START + 1_000, quiet);
      await store(figure(2_000));
      expect(await claimIds(START + 2_000, quiet)).toEqual([]);
      expect(await outcomes('evt_0')).toEqual(['failed', 'superseded']);
      expect(await claimIds(START + 3_000, quiet)).toEqual(['evt_2000']);
    });

    it('does not wait again after it failed, or was interrupted', async () => {
      await holding(figure(0));
      await settle('evt_0', { outcome: 'interrupted' }, START + 1_000, quiet);
      await settle('evt_0', retry(START + 1_100), START + 1_000, quiet);
      expect(await claimIds(START + 1_100, quiet)).toEqual(['evt_0']);
    });

    it('does not wait for a clock that was set back or forward', async () => {
      await holding(figure(0));
      expect(await claimIds(START + 10, quiet)).toEqual([]);
      expect(await claimIds(START - HOUR_MS, quiet)).toEqual([]);
      expect(await claimIds(START - HOUR_MS + 1_100, quiet)).toEqual(['evt_0']);
      await holding(figure(0));
      expect(await claimIds(START + 10, quiet)).toEqual([]);
      expect(await claimIds(START + HOUR_MS, quiet)).toEqual(['evt_0']);
    });

    it('lets another type run while it waits, if it is older', async () => {
      await holding(figure(0, { type: 'order.cancelled' }), figure(1));
      expect(await claimIds(START + 10, quiet)).toEqual(['evt_0']);
    });

    it('holds back another type that is newer', async () => {
      await holding(figure(0), figure(1, { type: 'order.cancelled' }));
      expect(await claimIds(START + 10, quiet)).toEqual([]);
      await settle('evt_0', PROCESSED, START + 1_000, quiet);
      expect(await claimIds(START + 1_000, quiet)).toEqual(['evt_1']);
    });
  });
}
