import { gaugeOf, MOST_COUNTED } from '../../rules/gauges.ts';
import { assertFilter } from '../check-filter.ts';
import type { EventFilter } from '../filter.ts';
import type { CountRequest, EventCount } from '../search.ts';
import { SlicedWork } from '../turns.ts';
import { countNamed } from './candidates.ts';
import { conditionsOf } from './conditions.ts';
import { examine, Found, indexSome, type Searched, type SearchedRow } from './find-page.ts';
import { wayFor } from './ways.ts';

/** So many events are looked at for a count: whoever only wants to know how many there are does not wait for more. */
const MOST_EXAMINED = 20_000;
const STEP = 2_500;

/** How many events fit, from what an index knows where that is enough. */
export async function countFound<Row extends SearchedRow>(
  engine: Searched<Row>,
  filter: EventFilter,
  { signal, examined: most = MOST_EXAMINED }: CountRequest,
): Promise<EventCount> {
  assertFilter(filter);
  signal?.throwIfAborted();
  const conditions = conditionsOf(filter);
  if (conditions.terms.length > 0) await indexSome(engine, signal);

  const work = await SlicedWork.begin(signal);
  const { indexed, named, way } = await engine.look(function* (tables) {
    const upTo = yield* tables.indexedUpTo();
    const all = { from: 1, before: (yield* tables.newestSeq()) + 1 };
    const count = yield* countNamed(tables, conditions, all, upTo, MOST_COUNTED);
    const isDone = count !== null || most === 0;
    return { indexed: upTo, named: count, way: isDone ? null : yield* wayFor(tables, conditions, {}, upTo) };
  });
  if (named !== null) return { ...gaugeOf(named), cut: false };

  if (way === null) return { count: 0, more: false, cut: true };

  const found = new Found(conditions, indexed, MOST_COUNTED, work);
  let isThrough = false;
  while (!isThrough && !found.isFull() && found.examined < most) {
    const seqs = await engine.look((tables) => way.next(tables, STEP));
    const looked = await examine(engine, found, seqs, async () => {});
    isThrough = looked === seqs.length && seqs.length < STEP;
    const last = seqs[looked - 1];
    if (last !== undefined) way.goOn(last);
  }
  const counted = gaugeOf(found.count);
  return { ...counted, cut: !isThrough && !counted.more };
}
