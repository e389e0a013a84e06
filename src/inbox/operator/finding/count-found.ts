import { gaugeOf, MOST_COUNTED } from '../../rules/gauges.ts';
import { assertFilter } from '../check-filter.ts';
import type { EventFilter } from '../filter.ts';
import type { CountRequest, EventCount } from '../search.ts';
import { SlicedWork } from '../turns.ts';
import { exactPart } from './candidates.ts';
import { conditionsOf, inDatabaseTime } from './conditions.ts';
import { examine, Found, indexSome, type Searched } from './find-page.ts';
import { wayFor } from './ways.ts';

/** So many events are looked at for a count: whoever only wants to know how many there are does not wait for more. */
const MOST_EXAMINED = 20_000;
const STEP = 2_500;

/** How many events fit, from what an index knows where that is enough. */
export async function countFound(
  engine: Searched,
  filter: EventFilter,
  { signal, examined: most = MOST_EXAMINED }: CountRequest,
): Promise<EventCount> {
  assertFilter(filter);
  signal?.throwIfAborted();
  const asked = conditionsOf(filter);
  if (asked.terms.length > 0) await indexSome(engine, signal);

  const work = await SlicedWork.begin(signal);
  const { conditions, indexed, exact, way } = await engine.look(async (tables, clock) => {
    const conditions = inDatabaseTime(asked, clock);
    const extent = await tables.extent();
    const part = exactPart(conditions, extent);
    const counted = part && (await tables.count(part, MOST_COUNTED));
    const isDone = counted !== null || most === 0;
    return {
      conditions,
      indexed: extent.indexed,
      exact: counted,
      way: isDone ? null : await wayFor(tables, conditions, {}, extent),
    };
  });
  if (exact !== null) return { ...gaugeOf(exact), cut: false };
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
