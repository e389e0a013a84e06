import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import { prunableStates } from '../../src/inbox/event.ts';
import type { PruneCriteria } from '../../src/inbox/rules/pruning.ts';
import { pruneEvents } from '../../src/ops/index.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent, store as storeIn } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { deliverDuring } from './deliver-during.ts';
import { auditOf, claimed, FAILED, handled, inStates, key } from './events-in-states.ts';

const ADA: By = { actor: 'ada', reason: 'the disk is nearly full', now: START + 5 };
const LATER = new Date(START + 3_600_001);
const KEY = key('evt');

export interface PrunedStore {
  readonly inbox: Inbox;
  /** Puts events there at once, numbered from 1 on, in the place of all that were there. */
  plant(events: readonly PlantedEvent[]): Promise<void>;
  rows(): Promise<readonly PrunedRow[]>;
  breaksAt(seq: number): Promise<void>;
}

export interface PlantedEvent {
  readonly id: string;
  readonly endpoint: string;
  readonly type: string;
  readonly state: string;
  readonly settledMs: number;
  readonly body: Buffer;
}

export interface PrunedRow {
  readonly seq: number;
  readonly type: string;
  readonly endpoint: string;
  readonly state: string;
  readonly settled_ms: number | null;
  readonly pruned: 0 | 1;
}

export const testPruning = suite((open: () => Promise<PrunedStore>) => {
  let kept: PrunedStore;
  let inbox: Inbox;

  beforeEach(async () => {
    kept = await open();
    inbox = kept.inbox;
  });

  describe('pruneEvents', () => {
    it.each(['processed', 'dead (failed)', 'dead (crashed)', 'dead (invalid)', 'ignored', 'discarded'] as const)(
      'makes a tombstone of an event that is %s',
      async (name) => {
        await inStates[name](inbox);
        const before = await inbox.get(KEY);
        const body = before?.body ?? Buffer.alloc(0);
        await inbox.accept({ ...orderEvent('evt'), body: Buffer.from('{"other":1}'), valid: false }, later());
        const states = [...prunableStates];

        expect(await pruneEvents(inbox, { settledBefore: LATER, states }, ADA)).toMatchObject({ pruned: 1 });
        expect(await inbox.get(KEY)).toMatchObject({ state: before?.state, body: null, conflict: null });
        for (const { error } of await inbox.attempts(KEY)) expect(error?.message ?? '').toBe('');
        // The same bytes are known still. (Invalid ones, or the body of an invalid event would be replaced.)
        const again = { ...orderEvent('evt'), body, valid: false };
        expect(await inbox.accept(again, later())).toEqual({ result: 'duplicate', conflict: false, replaced: false });
        expect(await pruneEvents(inbox, { settledBefore: LATER, states }, ADA)).toMatchObject({ pruned: 0 });
      },
    );

    it('takes the steps of a dead event', async () => {
      await storeIn(inbox, orderEvent('evt'));
      const { lease } = await claimed(inbox, orderEvent('evt'));
      await inbox.keepStep(lease, { name: 'mail', result: '1' }, START + 1);
      const error = { name: 'Error', message: 'fails', stack: null };
      await inbox.settle(lease, { outcome: 'dead', reason: 'failed', error }, START + 1);
      expect(await inbox.steps(KEY)).toHaveLength(1);
      expect(await pruneEvents(inbox, { settledBefore: LATER, states: ['dead'] }, ADA)).toMatchObject({ pruned: 1 });
      expect(await inbox.steps(KEY)).toEqual([]);
    });

    it.each(['pending', 'retrying', 'in processing'] as const)('leaves an event that is %s', async (name) => {
      await inStates[name](inbox);
      const before = await inbox.get(KEY);
      expect(await pruneEvents(inbox, { settledBefore: LATER, states: prunableStates }, ADA)).toMatchObject({
        pruned: 0,
      });
      expect(await inbox.get(KEY)).toEqual(before);
    });

    it('takes only processed events unless told otherwise', async () => {
      await handled(inbox, { outcome: 'processed' }, orderEvent('processed'));
      await handled(inbox, FAILED, orderEvent('dead'));
      expect(await pruneEvents(inbox, { settledBefore: LATER }, ADA)).toMatchObject({ pruned: 1 });
      expect(await inbox.get({ ...KEY, id: 'dead' })).not.toMatchObject({ body: null });
    });

    it('takes exactly what the criteria fit, and a dry run counts the same without taking it', async () => {
      const types = ['order.created', 'order.ready', 'cart.abandoned'];
      const endpoints = ['default', 'second'];
      const some = <T>(values: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...values], { minLength: 1 });
      const criteria = fc.record(
        {
          settledBefore: fc.integer({ min: 0, max: 12 }).map((at) => new Date(START + at)),
          states: some(prunableStates),
          types: some(types),
          endpoint: fc.constantFrom(...endpoints),
        },
        { requiredKeys: ['settledBefore'] },
      );
      await fc.assert(
        fc.asyncProperty(criteria, fc.integer({ min: 1, max: 200 }), async (criteria, seed) => {
          await plant(80, (n) => ({
            type: types[(n * seed) % types.length] ?? '',
            endpoint: endpoints[(n + seed) % 2] ?? '',
            state: ['processed', 'dead', 'ignored', 'discarded', 'pending'][(n * 7 + seed) % 5] ?? '',
            settledMs: START + ((n * 5 + seed) % 11),
          }));
          const all = await kept.rows();
          const fits = ({ state, type, endpoint, settled_ms }: PrunedRow): boolean =>
            (criteria.states ?? ['processed']).some((wanted) => wanted === state) &&
            (criteria.types?.includes(type) ?? true) &&
            (criteria.endpoint === undefined || criteria.endpoint === endpoint) &&
            settled_ms !== null &&
            settled_ms < criteria.settledBefore.getTime();
          const wanted = all.filter(fits).map(({ seq }) => seq);

          expect(await pruneEvents(inbox, criteria, ADA, { dryRun: true })).toEqual({
            pruned: wanted.length,
            audit: null,
          });
          expect(await kept.rows()).toEqual(all);
          expect(await pruneEvents(inbox, criteria, ADA)).toMatchObject({ pruned: wanted.length });
          expect((await kept.rows()).filter(({ pruned }) => pruned === 1).map(({ seq }) => seq)).toEqual(wanted);
        }),
        { numRuns: 40 },
      );
    });

    it('takes all of very many that were settled at the same moment', async () => {
      await plant(3_500, (n) => ({ state: 'processed', type: n % 2 === 0 ? 'order.created' : 'order.ready' }));
      const criteria: PruneCriteria = { settledBefore: LATER, types: ['order.ready'] };
      expect(await pruneEvents(inbox, criteria, ADA)).toMatchObject({ pruned: 1_750 });
      expect((await kept.rows()).filter(({ pruned, type }) => (pruned === 1) !== (type === 'order.ready'))).toEqual([]);
    });

    it('looks at no more than a thousand events at a time, however few fit', async () => {
      await plant(2_500, (n) => ({ state: 'processed', type: n === 2_400 ? 'order.ready' : 'order.created' }));
      const operations = operationsOf(inbox);
      const criteria: PruneCriteria = { settledBefore: LATER, types: ['order.ready'] };
      const first = await operations.pruneSome(criteria, 50);
      const second = await operations.pruneSome(criteria, 50, { after: first.next });
      const third = await operations.pruneSome(criteria, 50, { after: second.next });
      expect([first.pruned, second.pruned, third.pruned]).toEqual([0, 0, 1]);
      expect([first.next?.seq, second.next?.seq, third.next]).toEqual([1_000, 2_000, null]);
    });

    it('ends a batch of large bodies early, and goes on where it ended', async () => {
      await plant(60, () => ({ state: 'processed', body: Buffer.alloc(1_000_000, 'x') }));
      const operations = operationsOf(inbox);
      const first = await operations.pruneSome({ settledBefore: LATER }, 60);
      expect(first.pruned).toBeLessThan(60);
      expect(await pruneEvents(inbox, { settledBefore: LATER }, ADA)).toMatchObject({ pruned: 60 - first.pruned });
    });

    it('lets deliveries in while it runs', async () => {
      await plant(3_000, () => ({ state: 'processed' }));
      const pruning = pruneEvents(inbox, { settledBefore: LATER }, ADA);
      const { taken, result } = await deliverDuring(inbox, pruning, (n) => ({ id: `new_${n}` }));
      expect(result).toMatchObject({ pruned: 3_000 });
      expect(taken).toBeGreaterThan(5);
    });

    it.each([
      ['no time', { settledBefore: new Date(NaN) }],
      ['no state', { settledBefore: LATER, states: [] }],
      ['a state that needs its bodies', { settledBefore: LATER, states: ['pending'] as unknown as ['dead'] }],
    ])('refuses %s', async (_, criteria) => {
      await expect(pruneEvents(inbox, criteria, ADA)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
      expect(await auditOf(inbox)).toEqual([]);
    });
  });

  describe('the audit of pruning', () => {
    it('says who, why, what and how many', async () => {
      await plant(30, () => ({ state: 'processed' }));
      const criteria: PruneCriteria = { settledBefore: LATER, states: ['processed', 'dead'], endpoint: 'default' };
      const { audit } = await pruneEvents(inbox, criteria, ADA);
      expect(await auditOf(inbox)).toEqual([
        {
          seq: audit,
          at: new Date(START + 5),
          actor: 'ada',
          via: 'code',
          act: 'prune',
          reason: 'the disk is nearly full',
          filter: { settledBefore: LATER.toISOString(), states: ['processed', 'dead'], endpoint: 'default' },
          counts: { pruned: 30 },
        },
      ]);
    });

    it('says nothing of a dry run', async () => {
      await plant(3, () => ({ state: 'processed' }));
      await pruneEvents(inbox, { settledBefore: LATER }, ADA, { dryRun: true });
      expect(await auditOf(inbox)).toEqual([]);
    });

    it('says on a dry run how many it has counted, and stops when told to', async () => {
      await plant(3_500, () => ({ state: 'processed' }));
      const counted: number[] = [];
      const stop = new AbortController();
      const { pruned } = await pruneEvents(inbox, { settledBefore: LATER }, ADA, {
        dryRun: true,
        signal: stop.signal,
        onProgress(found) {
          counted.push(found);
          if (counted.length === 2) stop.abort();
        },
      });
      expect(counted).toEqual([1_000, 2_000]);
      expect(pruned).toBe(2_000);
    });

    it('is right for a run that was stopped', async () => {
      await plant(400, () => ({ state: 'processed' }));
      const stop = new AbortController();
      const { pruned } = await pruneEvents(inbox, { settledBefore: LATER }, ADA, {
        signal: stop.signal,
        onProgress: () => stop.abort(),
      });
      expect(pruned).toBeGreaterThan(0);
      expect(pruned).toBeLessThan(400);
      expect((await kept.rows()).filter((row) => row.pruned === 1)).toHaveLength(pruned);
      expect(await auditOf(inbox)).toMatchObject([{ counts: { pruned } }]);
    });

    it('is right for a run that broke down', async () => {
      await plant(400, () => ({ state: 'processed' }));
      await kept.breaksAt(120);
      await expect(pruneEvents(inbox, { settledBefore: LATER }, ADA)).rejects.toThrow(InboxUnavailableError);
      const pruned = (await kept.rows()).filter((row) => row.pruned === 1).length;
      expect(pruned).toBeGreaterThan(0);
      expect(await auditOf(inbox)).toMatchObject([{ counts: { pruned } }]);
    });
  });

  async function plant(count: number, event: (n: number) => Partial<PlantedEvent>): Promise<void> {
    const events = Array.from({ length: count }, (_, n) => ({ ...usual(n), ...event(n) }));
    await kept.plant(events);
  }
});

function usual(n: number): PlantedEvent {
  const about = { endpoint: 'default', type: 'order.created', state: 'processed', settledMs: START };
  return { id: `evt_${n}`, ...about, body: Buffer.from(`{"n":${n}}`) };
}
