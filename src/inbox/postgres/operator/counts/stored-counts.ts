import type { Counts } from '../../../operator/counts.ts';
import { pinger } from '../../../operator/pinger.ts';
import { appendOnce } from '../../driver/append-once.ts';
import { addCounts } from '../../sql/add-counts.ts';
import type { Access } from '../access.ts';
import { coarsen, countsBetween, totals, totalsIn } from './count-sums.ts';
import { deliveries } from './deliveries.ts';
import { gauges } from './gauges.ts';
import { writeAndTakeBack } from './ping.ts';
import { noteRejected, rejected } from './rejections.ts';

export function counts(access: Access): Counts {
  const { store, ask } = access;
  const { database, time } = store;
  return {
    async count(rows) {
      if (rows.length === 0) return;
      const append = () =>
        appendOnce(
          database,
          (session) => time.follow(session),
          (session) => addCounts(session, store, rows),
        );
      await ask(append);
    },
    counts: (since, until) => ask(() => countsBetween(store, { since, until })),
    totals: () => ask(() => totals(store)),
    totalsIn: (spans, { signal } = {}) => ask(() => totalsIn({ ...store, database: database.until(signal) }, spans)),
    deliveries: (spans, per) => ask(() => deliveries(store, spans, per)),
    coarsen: (before) => coarsen(access, before),
    gauges: () => ask(() => gauges(store)),
    noteRejected: (rejections) => noteRejected(access, rejections),
    rejected: (limit) => ask(() => rejected(store, limit)),
    ping: pinger(() => ask(() => writeAndTakeBack(store))),
  };
}
