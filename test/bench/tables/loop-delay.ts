import type { Bench } from '../bench.ts';
import { atMost, type Goal } from '../goals.ts';
import { table, whole } from '../markdown.ts';
import { cells, comparison, figure } from '../marks.ts';
import { counting, middle, type Rounds } from '../rounds.ts';
import { baseline, stored, type Row } from '../rows.ts';
import type { LoadFigures } from '../session.ts';
import { pacedRate, type ServerRounds } from '../server-rounds.ts';

/** What the loop of each server kept others waiting. `where` is said in the heading. */
export function loopDelayTable(bench: Bench, rows: readonly Row[], { full, paced }: ServerRounds, where = ''): string {
  const lines = rows.flatMap(({ name, title }) => {
    const [own, atPace] = [full.get(name), paced.get(name)];
    if (own === undefined || atPace === undefined) return [];
    const answers = [middle(atPace, ({ p50Ms }) => p50Ms), middle(atPace, ({ p99Ms }) => p99Ms)];
    const values = [...delays(own), ...delays(atPace), ...answers].map((value) => value.toFixed(1));
    return [[title, ...cells(bench, own, values)]];
  });
  const heads = ['full load, p50', 'p99', 'max', `${whole(pacedRate)}/s, p50`, 'p99', 'max', 'answer p50', 'p99'];
  return [
    `### Event-loop delay${where}`,
    'What others wait for the event loop of the same process, in milliseconds: how late a timer is that is due at any ' +
      'millisecond of the load (`loop-delay-probe.ts`). Medians of the rounds, max is the worst of all. Beside it, what ' +
      `a delivery waits for its answer at ${whole(pacedRate)} deliveries/s.`,
    table(['ms', ...heads], lines),
  ].join('\n\n');
}

function delays(loads: Rounds<LoadFigures>): readonly number[] {
  const { p50, p99, max } = middleDelay(loads);
  return [p50, p99, max];
}

/** Medians, and the worst of the longest. */
function middleDelay(loads: Rounds<LoadFigures>): LoadFigures['loopDelay'] {
  return {
    p50: middle(loads, ({ loopDelay }) => loopDelay.p50),
    p99: middle(loads, ({ loopDelay }) => loopDelay.p99),
    max: Math.max(...counting(loads).map(({ loopDelay }) => loopDelay.max)),
  };
}

export function loopDelayGoals(bench: Bench, { full }: ServerRounds, when: string): readonly Goal[] {
  const own = full.get(stored.name);
  const worst = own === undefined ? 0 : middleDelay(own).max;
  return [
    atMost(
      `event-loop delay ${when}: p99 over bare Hono's`,
      { wanted: 3, stretch: 1, unit: 'ms' },
      comparison(bench, own, full.get(baseline.name), (a, b) => a.loopDelay.p99 - b.loopDelay.p99),
    ),
    atMost(
      `event-loop delay ${when}: max`,
      { wanted: 15, unit: 'ms' },
      figure(bench, own, () => worst),
    ),
  ];
}
