import type { Bench } from '../bench.ts';
import { whole } from '../markdown.ts';
import { interleave, type Rounds } from '../rounds.ts';
import { allRows, type Row } from '../rows.ts';
import { measureServers } from '../server-rounds.ts';
import { goalConnections, withSession, type LoadFigures } from '../session.ts';
import type { Table } from '../table.ts';
import { loopDelayGoals, loopDelayTable } from './loop-delay.ts';
import { throughputGoals, throughputTable } from './throughput.ts';

/** Each server as fast as it can and at a pace. Two tables of one measurement, because a warm-up takes the longest. */
export const servers: Table = {
  name: 'servers',
  async measure(bench) {
    const { rows: wanted, connections } = bench.options;
    const rows = allRows(bench.options.against).filter(({ name }) => wanted.length === 0 || wanted.includes(name));
    const rounds = await measureServers(rows, bench);
    const others = connections.filter((count) => count !== goalConnections);
    const once = await measureOnce(rows, others, bench);
    return {
      text: [throughputTable(bench, rows, rounds.full, others, once), loopDelayTable(bench, rows, rounds)].join('\n\n'),
      goals: [...loopDelayGoals(bench, rounds, 'at full load'), ...throughputGoals(bench, rounds.full)],
      disturbed: [...rounds.full.values(), ...once.values()].some(({ disturbed }) => disturbed),
      data: { full: [...rounds.full], paced: [...rounds.paced], once: [...once] },
    };
  },
};

/** What no goal speaks of is measured once: each number of connections in turn, on a server of its own. */
async function measureOnce(
  rows: readonly Row[],
  connections: readonly number[],
  bench: Bench,
): Promise<Map<string, Rounds<readonly LoadFigures[]>>> {
  if (connections.length === 0) return new Map();
  const contenders = rows.map((row) => ({
    name: row.name,
    measure: () =>
      withSession(row, bench, {}, async (session) => {
        const loads: LoadFigures[] = [];
        for (const count of connections) loads.push(await session.load({ connections: count }));
        return loads;
      }),
  }));
  return interleave(bench, contenders, 1, {
    describe: (loads) =>
      loads.map((load, at) => `${whole(load.requestsPerSecond)} requests/s at ${connections[at]}`).join(', '),
    loadsOf: (loads) => loads,
  });
}
