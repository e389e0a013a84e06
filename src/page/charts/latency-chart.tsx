import type { Stats } from '../../ops/stats.ts';
import { latency, number, plural, shortTime } from '../../ops/words/format.ts';
import { DataTable } from '../parts/list-table.tsx';
import { across, BOTTOM, ChartFigure, level, seriesItem, timeAxis, TOP, type Span } from './chart-frame.tsx';

/** The service gives up after this long (interface 6.4). */
const DEADLINE_MS = 10_000;
const SLOWEST_MS = 60_000;
const PLOT_HEIGHT = 132;
const BASE_LINE = TOP + PLOT_HEIGHT;
const PERCENTILES = ['p50', 'p99'] as const;
type Percentile = (typeof PERCENTILES)[number];

export function LatencyChart({ total, ...span }: Span & { readonly total: Stats['answerMs'] }) {
  const { steps, now } = span;
  const late = steps.filter(({ answerMs: { p99 } }) => (p99 ?? 0) > DEADLINE_MS).length;
  const spoken =
    total.count === 0
      ? 'No delivery was answered in this period.'
      : `Of ${plural(total.count, 'response')}, half took ${atMost(total.p50)} and 99% ${atMost(total.p99)}. ` +
        `${late === 0 ? 'None' : number(late)} of ${plural(steps.length, 'step')} had a p99 above 10 s.`;
  const answered = steps.filter(({ answerMs }) => answerMs.count > 0);
  return (
    <ChartFigure
      id="latency"
      title="Response latency"
      description={spoken}
      height={BASE_LINE + BOTTOM}
      span={span}
      legend={PERCENTILES.map((percentile) =>
        seriesItem(
          22,
          <>
            <line class={percentile} x1="0" x2="22" y1="7" y2="7" />
            {dot(percentile, '50%', 7)}
          </>,
          {
            name: percentile,
            words: percentile,
            total: latency(total[percentile]),
            values: steps.map(({ answerMs }) => latency(answerMs[percentile])),
          },
        ),
      )}
      table={
        answered.length === 0 ? (
          <p>No delivery was answered in this period.</p>
        ) : (
          <DataTable
            caption="Each latency is the upper bound of its bucket."
            rows={answered}
            columns={[
              ['from (UTC)', ({ at }) => <time datetime={at.toISOString()}>{shortTime(at, now)}</time>],
              ['responses', ({ answerMs }) => number(answerMs.count)],
              ['p50', ({ answerMs }) => latency(answerMs.p50)],
              ['p90', ({ answerMs }) => latency(answerMs.p90)],
              ['p99', ({ answerMs }) => latency(answerMs.p99)],
              ['slowest', ({ answerMs }) => latency(answerMs.max)],
            ]}
          />
        )
      }
    >
      {PERCENTILES.map((percentile) => latencyLine(percentile, span))}
      {[10, 100, 1_000].map((ms) => level(latencyY(ms), latency(ms)))}
      {level(latencyY(DEADLINE_MS), '10 s', 'the service times out')}
      {timeAxis(span, BASE_LINE)}
    </ChartFigure>
  );
}

/** The last bucket has no upper bound. */
function atMost(ms: number | null): string {
  return ms === Infinity ? latency(ms) : `at most ${latency(ms)}`;
}

/** Steps without a delivery interrupt the line. */
function latencyLine(percentile: Percentile, { steps, now }: Span) {
  const points = steps.map(({ at, answerMs }, n) => {
    const ms = answerMs[percentile];
    return ms === null ? null : { x: across(n + 0.5, steps.length), y: latencyY(ms), ms, at };
  });
  return (
    <g class={percentile}>
      {points.map((point, n) => {
        const next = points[n + 1] ?? null;
        if (point === null || next === null) return null;
        return <line class={percentile} x1={point.x} x2={next.x} y1={point.y} y2={next.y} />;
      })}
      {points.map(
        (point) =>
          point !== null && (
            <g>
              <title>
                {shortTime(point.at, now)}: {percentile} {latency(point.ms)}
              </title>
              {dot(percentile, point.x, point.y)}
            </g>
          ),
      )}
    </g>
  );
}

function dot(percentile: Percentile, x: string, y: number) {
  return <circle class={`dot ${percentile}`} cx={x} cy={y} r="2.5" />;
}

function latencyY(ms: number): number {
  const within = Math.min(Math.max(ms, 1), SLOWEST_MS);
  return Math.round((BASE_LINE - (Math.log(within) / Math.log(SLOWEST_MS)) * PLOT_HEIGHT) * 10) / 10;
}
