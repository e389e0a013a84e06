import type { Mark } from '../../inbox/rules/marks.ts';
import type { StatsStep } from '../../ops/stats.ts';
import { age, number, shortTime } from '../../ops/words/format.ts';
import { outcomeHref, type StepLinks } from '../parts/outcome-links.ts';
import { Bar, Patterns } from './chart-bar.tsx';
import { MARK_ROW, MarkLines, MarkList } from './chart-marks.tsx';
import { across, ChartFigure, Level, TimeAxis, type Span } from './chart-frame.tsx';
import { barHeight, countOf, OUTCOME_WORDS, outcomes, placedPlots, type Outcome, type PlacedPlot } from './plots.ts';

interface Outcomes extends Span {
  readonly base: string;
  /** what began in the span */
  readonly marks: readonly Mark[];
}

/**
 * What came in, what became of it and what went wrong, one below the other over the same time: each with a scale of its
 * own. Bars are links for a mouse; the table has the same ones for keys.
 */
export function OutcomesChart({ steps, stepMs, now, base, marks }: Outcomes) {
  const totals = totalsOf(steps);
  const spoken = outcomes.map((outcome) => `${number(totals[outcome])} ${OUTCOME_WORDS[outcome]}`).join(', ');
  const { plots, height } = placedPlots(steps, marks.length === 0 ? 0 : MARK_ROW);
  const step = age(stepMs);
  const last = plots.at(-1)?.baseLine ?? 0;
  return (
    <ChartFigure
      id="outcomes"
      title="Outcomes over time"
      description={`In this period: ${spoken}. ${busiest(steps, now)}`}
      height={height}
      linked
      legend={<Legend totals={totals} isUnfinished={steps.some((step) => !isOver(step, stepMs, now))} />}
      table={<OutcomesTable steps={steps} stepMs={stepMs} now={now} base={base} />}
      below={<MarkList marks={marks} now={now} />}
    >
      <Patterns id="outcomes" />
      {steps.map(
        (step, n) =>
          !isOver(step, stepMs, now) && (
            <rect
              class="unfinished"
              fill="url(#outcomes-unfinished)"
              x={across(n, steps.length)}
              width={across(1, steps.length)}
              y={0}
              height={last}
            />
          ),
      )}
      {plots.map((plot) => (
        <g>
          {steps.map((step, n) => (
            <StepBars plot={plot} step={step} n={n} of={steps.length} links={{ base, stepMs }} now={now} />
          ))}
          <line class="base" x1="0" x2="100%" y1={plot.baseLine} y2={plot.baseLine} />
        </g>
      ))}
      <MarkLines marks={marks} steps={steps} stepMs={stepMs} now={now} height={last} />
      {/* After the marks, which pass behind what these say. */}
      {plots.map((plot) => (
        <Level y={plot.baseLine - plot.height} label={`${number(plot.top)} in ${step}: ${plot.name}`} />
      ))}
      <TimeAxis steps={steps} stepMs={stepMs} now={now} baseLine={last} />
    </ChartFigure>
  );
}

function StepBars({
  plot,
  step,
  n,
  of,
  links,
  now,
}: {
  readonly plot: PlacedPlot;
  readonly step: StatsStep;
  readonly n: number;
  readonly of: number;
  readonly links: StepLinks;
  readonly now: Date;
}) {
  const width = 0.84 / plot.bars.length;
  return (
    <>
      {plot.bars.flatMap((stack, place) => {
        let y = plot.baseLine;
        return stack.map((outcome) => {
          const count = countOf(step, outcome);
          if (count === 0) return null;
          const height = barHeight(count, plot);
          y -= height;
          const so = isOver(step, links.stepMs, now) ? '' : ' so far';
          return (
            <a href={outcomeHref(outcome, step, links)} tabindex={-1} aria-hidden="true">
              <title>
                {shortTime(step.at, now)}: {number(count)} {OUTCOME_WORDS[outcome]}
                {so}
              </title>
              <Bar
                chart="outcomes"
                outcome={outcome}
                x={across(n + 0.08 + place * width, of)}
                width={across(width, of)}
                y={Math.round(y * 10) / 10}
                height={height}
              />
            </a>
          );
        });
      })}
    </>
  );
}

function Legend({
  totals,
  isUnfinished,
}: {
  readonly totals: Readonly<Record<Outcome, number>>;
  readonly isUnfinished: boolean;
}) {
  return (
    <ul class="legend">
      {outcomes.map((outcome) => (
        <li>
          <svg class="chart key" width="14" height="14" aria-hidden="true">
            <Bar chart="outcomes" outcome={outcome} x="1" y={1} width="12" height={12} />
          </svg>{' '}
          {OUTCOME_WORDS[outcome]} <strong>{number(totals[outcome])}</strong>
        </li>
      ))}
      {isUnfinished && (
        <li>
          <svg class="chart key" width="14" height="14" aria-hidden="true">
            <rect class="unfinished" fill="url(#outcomes-unfinished)" x="1" y="1" width="12" height="12" />
          </svg>{' '}
          not complete
        </li>
      )}
    </ul>
  );
}

function OutcomesTable({ steps, stepMs, now, base }: Omit<Outcomes, 'marks'>) {
  const told = steps.filter((step) => outcomes.some((outcome) => countOf(step, outcome) > 0));
  if (told.length === 0) return <p>Nothing happened in this period.</p>;
  return (
    <table class="list">
      <caption>Intervals without events are omitted.</caption>
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
              {!isOver(step, stepMs, now) && ' (not complete)'}
            </th>
            {outcomes.map((outcome) => {
              const count = countOf(step, outcome);
              return (
                <td data-label={OUTCOME_WORDS[outcome]}>
                  {count === 0 ? '0' : <a href={outcomeHref(outcome, step, { base, stepMs })}>{number(count)}</a>}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The last step goes on: what is low there may only be young. */
function isOver({ at }: StatsStep, stepMs: number, now: Date): boolean {
  return at.getTime() + stepMs <= now.getTime();
}

function totalsOf(steps: readonly StatsStep[]): Record<Outcome, number> {
  const totals = { stored: 0, processed: 0, failed: 0, dead: 0, rejected: 0 };
  for (const step of steps) for (const outcome of outcomes) totals[outcome] += countOf(step, outcome);
  return totals;
}

function busiest(steps: readonly StatsStep[], now: Date): string {
  const most = steps.reduce<StatsStep | null>((most, step) => (step.dead > (most?.dead ?? 0) ? step : most), null);
  return most === null
    ? 'No event died.'
    : `The interval with the most dead events (${number(most.dead)}) began at ${shortTime(most.at, now)}.`;
}
