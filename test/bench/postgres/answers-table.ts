import type { Bench } from '../bench.ts';
import { range, table, whole } from '../markdown.ts';
import { cells, ratio } from '../marks.ts';
import { counting, middle } from '../rounds.ts';
import { stored, storedOnPostgres } from '../rows.ts';
import { measureServers, pacedRate } from '../server-rounds.ts';
import { goalConnections, type LoadFigures } from '../session.ts';
import type { Section } from '../table.ts';
import type { BenchServer } from './bench-server.ts';

const ROWS = [stored, storedOnPostgres];

const timesP50 = (own: LoadFigures, other: LoadFigures): number => own.p50Ms / other.p50Ms;
const timesP99 = (own: LoadFigures, other: LoadFigures): number => own.p99Ms / other.p99Ms;

/** What a delivery waits for its answer, beside an inbox in SQLite under the same load. */
export async function answersTable(bench: Bench, server: BenchServer): Promise<Section> {
  const { full, paced } = await server.withDatabase((url) =>
    measureServers(ROWS, bench, { env: { HOOKBOX_BENCH_POSTGRES: url } }),
  );
  const lines = ROWS.flatMap(({ name, title }) => {
    const [atFull, atPace] = [full.get(name), paced.get(name)];
    if (atFull === undefined || atPace === undefined) return [];
    const ms = (own: typeof atFull, of: 'p50Ms' | 'p99Ms'): string => middle(own, (load) => load[of]).toFixed(2);
    return [
      [
        title,
        ...cells(bench, atFull, [
          whole(middle(atFull, ({ requestsPerSecond }) => requestsPerSecond)),
          range(counting(atFull).map(({ requestsPerSecond }) => requestsPerSecond)),
          ms(atFull, 'p50Ms'),
          ms(atFull, 'p99Ms'),
        ]),
        ...cells(bench, atPace, [
          ms(atPace, 'p50Ms'),
          ms(atPace, 'p99Ms'),
          ratio(bench, atPace, paced.get(stored.name), timesP50),
          ratio(bench, atPace, paced.get(stored.name), timesP99),
        ]),
      ],
    ];
  });
  return {
    text: [
      '#### The answer',
      `The servers and the load of the tables above: ${goalConnections} connections, as fast as they can and at ` +
        `${whole(pacedRate)} deliveries/s. Postgres runs on the same cores.`,
      table(
        ['', 'Requests/s', 'Range', 'p50 ms', 'p99 ms', '1,000/s, p50 ms', 'p99 ms', 'p50 of SQLite', 'p99 of SQLite'],
        lines,
      ),
    ].join('\n\n'),
    goals: [],
    disturbed: [...full.values()].some(({ disturbed }) => disturbed),
    data: { full: [...full], paced: [...paced] },
  };
}
