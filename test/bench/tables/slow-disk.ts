import { measureServers } from '../server-rounds.ts';
import { baseline, handWritten, stored, storedBefore, storedOnTheLoop } from '../rows.ts';
import type { Table } from '../table.ts';
import { range, table, whole } from '../markdown.ts';
import { cells } from '../marks.ts';
import { counting, middle } from '../rounds.ts';
import { loopDelayGoals, loopDelayTable } from './loop-delay.ts';

/** Servers that store, and what they are compared with, on a disk whose syncs take longer. */
export const slowDisk: Table = {
  name: 'slow-disk',
  async measure(bench) {
    const { syncDelay, options } = bench;
    if (typeof syncDelay === 'string') {
      const why = `### A slower disk\n\nLeft out: ${syncDelay}.`;
      return { text: why, goals: [], disturbed: false, data: syncDelay };
    }
    const { ms, env, fdatasync } = syncDelay;
    const rows = [baseline, stored, ...storedOnTheLoop, ...storedBefore(options.against), handWritten];
    const rounds = await measureServers(rows, bench, { env });
    const lines = rows.flatMap(({ name, title }) => {
      const own = rounds.full.get(name);
      if (own === undefined) return [];
      const rates = counting(own).map(({ requestsPerSecond }) => requestsPerSecond);
      const rate = whole(middle(own, ({ requestsPerSecond }) => requestsPerSecond));
      const [p50, p99] = [middle(own, ({ p50Ms }) => p50Ms), middle(own, ({ p99Ms }) => p99Ms)];
      return [[title, ...cells(bench, own, [rate, range(rates), p50.toFixed(2), p99.toFixed(2)])]];
    });
    const where = ` on a disk whose sync takes ${ms} ms more`;
    return {
      text: [
        loopDelayTable(bench, rows, rounds, where),
        `The delay is that of a preloaded library (\`--sync-delay ${ms}\`): making 4 KiB durable takes ` +
          `${fdatasync.medianMs.toFixed(2)} ms with it (p99 ${fdatasync.p99Ms.toFixed(2)} ms). Requests on that disk:`,
        table(['Server', 'Requests/s', 'range', 'p50 ms', 'p99 ms'], lines),
      ].join('\n\n'),
      goals: loopDelayGoals(bench, rounds, `at full load, syncs ${ms} ms slower`),
      disturbed: [...rounds.full.values()].some(({ disturbed }) => disturbed),
      data: { full: [...rounds.full], paced: [...rounds.paced] },
    };
  },
};
