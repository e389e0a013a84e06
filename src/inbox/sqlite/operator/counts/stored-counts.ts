import type { Counts } from '../../../operator/counts.ts';
import { pinger } from '../../../operator/pinger.ts';
import type { Access } from '../access.ts';
import { addCount } from '../../sql/add-count.ts';
import { coarsen, countsBetween, totals, totalsIn } from './count-sums.ts';
import { deliveries } from './deliveries.ts';
import { gauges } from './gauges.ts';
import { writeAndTakeBack } from './ping.ts';
import { noteRejected, rejected } from './rejections.ts';

export function counts(access: Access): Counts {
  return {
    async count(rows) {
      if (rows.length > 0) await access.write(({ database }) => rows.forEach((row) => addCount(database, row)));
    },
    counts: async (since, until) => countsBetween(access.database(), { since, until }),
    totals: async () => totals(access.database()),
    totalsIn: (spans, { signal } = {}) => totalsIn(access, spans, signal),
    deliveries: async (spans, per) => deliveries(access.database(), spans, per),
    coarsen: (before) => coarsen(access, before),
    gauges: async () => gauges(access.database()),
    noteRejected: (rejections) => noteRejected(access, rejections),
    rejected: async (limit) => rejected(access.database(), limit),
    ping: pinger(() => access.write(({ database }) => writeAndTakeBack(database))),
  };
}
