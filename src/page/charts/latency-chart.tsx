import type { Stats } from '../../ops/stats.ts';
import { latency, number, plural, shortTime } from '../../ops/words/format.ts';
import { across, BASE_LINE, ChartFigure, Level, PLOT_HEIGHT, TimeAxis, type Span } from './chart-frame.tsx';
import { ListTable } from '../parts/list-table.tsx';

/** The service gives up after this long (interface 6.4). */
const DEADLINE_MS = 10_000;
const SLOWEST_MS = 60_000;
const percentiles = ['p50', 'p99'] as const;

/** How long answers took, against what the service waits for; the scale is logarithmic. */
export function LatencyChart({ steps, stepMs, now, total }: Span & { readonly total: Stats['answerMs'] }) {
  const late = steps.filter(({ answerMs: { p99 } }) => (p99 ?? 0) > DEADLINE_MS).length;
  const spoken =
    total.count === 0
      ? 'No delivery was answered in this period.'
      : `Of ${plural(total.count, 'answer')}, half took ${atMost(total.p50)} and 99% ${atMost(total.p99)}. ` +
        `${late === 0 ? 'None' : number(late)} of ${plural(steps.length, 'step')} had a p99 above 10 s.`;
  return (
    <ChartFigure
      id="latency"
      title="Response latency"
      description={spoken}
      legend={
        <ul class="legend">
          {percentiles.map((percentile) => (
            <li>
              <svg class="chart key" width="22" height="14" aria-hidden="true">
                <line class={percentile} x1="0" x2="22" y1="7" y2="7" />
                <Dot percentile={percentile} x="50%" y={7} />
              </svg>{' '}
              {percentile} <strong>{latency(total[percentile])}</strong>
            </li>
          ))}
        </ul>
      }
      table={<LatencyTable steps={steps} now={now} />}
    >
      {percentiles.map((percentile) => (
        <LatencyLine percentile={percentile} steps={steps} now={now} />
      ))}
      {[10, 100, 1_000].map((ms) => (
        <Level y={latencyY(ms)} label={latency(ms)} />
      ))}
      <Level y={latencyY(DEADLINE_MS)} label="10 s: the service times out" mark />
      <TimeAxis steps={steps} stepMs={stepMs} now={now} />
    </ChartFigure>
  );
}

/** What is beyond all that is told apart has no bound. */
function atMost(ms: number | null): string {
  return ms === Infinity ? latency(ms) : `at most ${latency(ms)}`;
}

/** Steps without a delivery interrupt the line. */
function LatencyLine({
  percentile,
  steps,
  now,
}: Pick<Span, 'steps' | 'now'> & { readonly percentile: (typeof percentiles)[number] }) {
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
              <Dot percentile={percentile} x={point.x} y={point.y} />
            </g>
          ),
      )}
    </g>
  );
}

/** Rings for the median, full dots for the slow ones. */
function Dot({
  percentile,
  x,
  y,
}: {
  readonly percentile: (typeof percentiles)[number];
  readonly x: string;
  readonly y: number;
}) {
  return <circle class={`dot ${percentile}`} cx={x} cy={y} r="2.5" />;
}

function latencyY(ms: number): number {
  const within = Math.min(Math.max(ms, 1), SLOWEST_MS);
  return Math.round((BASE_LINE - (Math.log(within) / Math.log(SLOWEST_MS)) * PLOT_HEIGHT) * 10) / 10;
}

function LatencyTable({ steps, now }: Pick<Span, 'steps' | 'now'>) {
  const told = steps.filter(({ answerMs }) => answerMs.count > 0);
  if (told.length === 0) return <p>No delivery was answered in this period.</p>;
  return (
    <ListTable
      columns={['from (UTC)', 'answers', 'p50', 'p90', 'p99', 'slowest']}
      caption="Each latency is the upper bound of its bucket."
    >
      {told.map(({ at, answerMs }) => (
        <tr>
          <th scope="row">
            <time datetime={at.toISOString()}>{shortTime(at, now)}</time>
          </th>
          <td data-label="answers">{number(answerMs.count)}</td>
          <td data-label="p50">{latency(answerMs.p50)}</td>
          <td data-label="p90">{latency(answerMs.p90)}</td>
          <td data-label="p99">{latency(answerMs.p99)}</td>
          <td data-label="slowest">{latency(answerMs.max)}</td>
        </tr>
      ))}
    </ListTable>
  );
}
