import type { StatsStep } from '../../ops/stats.ts';
import { number, shortTime } from '../../ops/words/format.ts';
import { Bar, Patterns, type Ending } from './chart-bar.tsx';
import { across, BASE_LINE, ChartFigure, Level, PLOT_HEIGHT, TimeAxis, TOP, type Span } from './chart-frame.tsx';

/** From the bottom of the stack to its top. Each is told apart by its pattern and its place, not by its colour alone. */
const ended = ['processed', 'failed', 'dead'] as const satisfies readonly Ending[];
const outcomes = ['stored', ...ended] as const;
type Outcome = (typeof outcomes)[number];

const OUTCOME_WORDS = {
  stored: 'received',
  processed: 'processed',
  failed: 'failed, tried again',
  dead: 'dead',
} as const satisfies Record<Outcome, string>;

/**
 * What came in and what became of it: for each step a bar for what was stored, and beside it a stack of how attempts ended.
 * They are not put on one another, because an event that came in and was processed would count twice.
 */
export function OutcomesChart({ steps, stepMs, now }: Span) {
  const top = niceCeiling(Math.max(0, ...steps.map((step) => Math.max(step.stored, heightOf(step)))));
  const totals = totalsOf(steps);
  const spoken = outcomes.map((outcome) => `${number(totals[outcome])} ${OUTCOME_WORDS[outcome]}`).join(', ');
  return (
    <ChartFigure
      id="outcomes"
      title="Outcomes over time"
      description={`In this span: ${spoken}. ${busiest(steps, now)}`}
      legend={<OutcomesLegend totals={totals} />}
      table={<OutcomesTable steps={steps} now={now} />}
    >
      <Patterns id="outcomes" />
      {steps.map((step, n) => (
        <OutcomeBars step={step} n={n} of={steps.length} top={top} now={now} />
      ))}
      <Level y={TOP} label={number(top)} />
      <Level y={TOP + PLOT_HEIGHT / 2} label={number(top / 2)} />
      <TimeAxis steps={steps} stepMs={stepMs} now={now} />
    </ChartFigure>
  );
}

function OutcomeBars({
  step,
  n,
  of,
  top,
  now,
}: {
  readonly step: StatsStep;
  readonly n: number;
  readonly of: number;
  readonly top: number;
  readonly now: Date;
}) {
  if (isQuiet(step)) return <></>;
  let y = BASE_LINE;
  const stack = ended.map((outcome) => {
    const height = barHeight(step[outcome], top);
    y -= height;
    return { outcome, y, height };
  });
  const storedHeight = barHeight(step.stored, top);
  const said = outcomes.map((outcome) => `${number(step[outcome])} ${OUTCOME_WORDS[outcome]}`).join(', ');
  return (
    <g>
      <title>
        {shortTime(step.at, now)}: {said}
      </title>
      <rect
        class="stored"
        x={across(n + 0.1, of)}
        width={across(0.36, of)}
        y={BASE_LINE - storedHeight}
        height={storedHeight}
      />
      {stack.map(({ outcome, y: at, height }) => (
        <Bar
          chart="outcomes"
          outcome={outcome}
          x={across(n + 0.5, of)}
          width={across(0.4, of)}
          y={at}
          height={height}
        />
      ))}
    </g>
  );
}

function OutcomesLegend({ totals }: { readonly totals: Readonly<Record<Outcome, number>> }) {
  return (
    <ul class="legend">
      {outcomes.map((outcome) => (
        <li>
          <svg class="chart key" width="14" height="14" aria-hidden="true">
            {outcome === 'stored' ? (
              <rect class="stored" x="2" y="2" width="10" height="10" />
            ) : (
              <Bar chart="outcomes" outcome={outcome} x="1" y={1} width="12" height={12} />
            )}
          </svg>{' '}
          {OUTCOME_WORDS[outcome]} <strong>{number(totals[outcome])}</strong>
        </li>
      ))}
    </ul>
  );
}

function OutcomesTable({ steps, now }: Pick<Span, 'steps' | 'now'>) {
  const told = steps.filter((step) => !isQuiet(step));
  if (told.length === 0) return <p>Nothing happened in this span.</p>;
  return (
    <table class="list">
      <caption>Steps in which nothing happened are left out.</caption>
      <thead>
        <tr>
          <th scope="col">from (UTC)</th>
          {outcomes.map((outcome) => (
            <th scope="col">{OUTCOME_WORDS[outcome]}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {told.map((step) => (
          <tr>
            <th scope="row">
              <time datetime={step.at.toISOString()}>{shortTime(step.at, now)}</time>
            </th>
            {outcomes.map((outcome) => (
              <td data-label={OUTCOME_WORDS[outcome]}>{number(step[outcome])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function isQuiet(step: StatsStep): boolean {
  return outcomes.every((outcome) => step[outcome] === 0);
}

function heightOf(step: StatsStep): number {
  return step.processed + step.failed + step.dead;
}

function totalsOf(steps: readonly StatsStep[]): Record<Outcome, number> {
  const totals = { stored: 0, processed: 0, failed: 0, dead: 0 };
  for (const step of steps) for (const outcome of outcomes) totals[outcome] += step[outcome];
  return totals;
}

function busiest(steps: readonly StatsStep[], now: Date): string {
  const most = steps.reduce<StatsStep | null>((most, step) => (step.dead > (most?.dead ?? 0) ? step : most), null);
  return most === null ? 'None died.' : `Most died from ${shortTime(most.at, now)} on: ${number(most.dead)}.`;
}

/** One dead event among a thousand is what one looks for: nothing that happened is too low to be seen. */
function barHeight(count: number, top: number): number {
  return count === 0 ? 0 : Math.max(2, Math.round((count / top) * PLOT_HEIGHT * 10) / 10);
}

/** The next of 2, 4, 6, 8, 10, 20, 40, …: half of it is a whole number, too. */
function niceCeiling(value: number): number {
  let unit = 1;
  for (;;) {
    for (const factor of [2, 4, 6, 8]) if (value <= factor * unit) return factor * unit;
    unit *= 10;
    if (value <= unit) return unit;
  }
}
