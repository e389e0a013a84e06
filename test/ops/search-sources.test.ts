import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { EventFilter } from '../../src/inbox/operator/search.ts';
import {
  exactPart,
  listed,
  narrowest,
  narrowestSource,
  sourcesFor,
  type IndexPart,
  type SearchTables,
} from '../../src/inbox/operator/finding/candidates.ts';
import { conditionsOf } from '../../src/inbox/operator/finding/conditions.ts';
import { inOrder, type SeqOrder } from '../../src/inbox/operator/finding/seq-ranges.ts';

type Lists = Readonly<Partial<Record<IndexPart['index']['of'], readonly number[] | null>>>;

function indexes(lists: Lists): Pick<SearchTables, 'list'> {
  return {
    list: (parts, limit, order) =>
      parts.map(({ index, range: { from, before } }) => {
        const seqs = lists[index.of] ?? null;
        return (
          seqs &&
          inOrder(
            seqs.filter((seq) => seq >= from && seq < before),
            order,
          ).slice(0, limit)
        );
      }),
  };
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);
const ranges = [{ from: 1, before: 10_001 }];
const choose = async (filter: EventFilter, lists: Lists, indexed = 10_000) => {
  const tables = { everything: upTo(10_000), ...lists };
  const source = await narrowestSource(indexes(tables) as SearchTables, conditionsOf(filter), ranges, indexed);
  return source.map(({ index }) => index.of);
};

it('a search takes the index that reaches farthest back', async () => {
  const filter = { retrying: true, conflict: true };
  expect(await choose(filter, { retrying: upTo(3), conflict: upTo(2) })).toEqual(['conflict']);
  expect(await choose(filter, { retrying: upTo(2), conflict: upTo(2) })).toEqual(['retrying']);
  // Of more than 500 only the newest are compared.
  expect(await choose(filter, { retrying: upTo(9_000), conflict: upTo(9_500) })).toEqual(['retrying']);
  expect(await choose({ retrying: true }, { retrying: upTo(10_000) })).toEqual(['retrying']);
  expect(await choose({ retrying: true }, { retrying: null })).toEqual(['everything']);
  expect(await choose({}, {})).toEqual(['everything']);
  expect(narrowest([null, null])).toBeNull();
});

it('parts of one source are merged in the order asked for, and an event is listed once', async () => {
  const seqs = fc.uniqueArray(fc.integer({ min: 1, max: 60 }));
  const orders = fc.constantFrom<SeqOrder>('newest', 'oldest');
  await fc.assert(
    fc.asyncProperty(seqs, seqs, fc.integer({ min: 0, max: 60 }), orders, async (died, retrying, middle, order) => {
      const [source = []] = sourcesFor(conditionsOf({ failedSince: new Date(0) }), 0);
      const parts = [
        { from: middle + 5, before: 61 },
        { from: 0, before: middle },
      ];
      const expected = [...new Set([...died, ...retrying])].filter((seq) => seq < middle || seq >= middle + 5);
      expect(await listed(indexes({ died, retrying }), source, parts, 9, order)).toEqual(
        inOrder(expected, order).slice(0, 9),
      );
      expect(await listed(indexes({ died, retrying: null }), source, [{ from: 0, before: 61 }], 9, order)).toBeNull();
    }),
  );
});

it('events that are not in the index of terms yet are listed as well', async () => {
  const [source = []] = sourcesFor(conditionsOf({ merchant: 'mer_7' }), 50);
  const lists = { everything: upTo(60), term: [3, 40, 55] };
  expect(await listed(indexes(lists), source, ranges, 12, 'newest')).toEqual([
    60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 40, 3,
  ]);
  const all = sourcesFor(conditionsOf({ merchant: 'mer_7' }), Number.MAX_SAFE_INTEGER)[0] ?? [];
  expect(await listed(indexes({ ...lists, everything: null }), all, ranges, 2, 'oldest')).toEqual([3, 40]);
});

it.each<[EventFilter, IndexPart['index']['of'] | null]>([
  [{}, 'everything'],
  [{ states: ['dead', 'discarded'] }, 'states'],
  [{ states: ['pending'] }, null],
  [{ states: ['dead'], failedSince: new Date(5) }, 'died'],
  [{ states: ['dead'], failedSince: new Date(5), endpoint: 'shop' }, null],
  [{ entity: 'ord_1' }, 'term'],
  [{ entity: 'ord_1', merchant: 'mer_7' }, null],
  [{ retrying: true }, 'retrying'],
  [{ retrying: false }, null],
  [{ fingerprint: 'f' }, 'group'],
  [{ fingerprint: 'f', retrying: true }, null],
  [{ text: 'x' }, null],
])('an index alone counts %j only if it lists just these events', (filter, of) => {
  const extent = { newestSeq: 9, indexed: 9 };
  expect(exactPart(conditionsOf(filter), extent)?.index.of ?? null).toBe(of);
  if (of === 'term') expect(exactPart(conditionsOf(filter), { ...extent, indexed: 8 })).toBeNull();
});
