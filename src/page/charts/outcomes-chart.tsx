import type { Mark } from '../../inbox/rules/marks.ts';
import type { StatsStep } from '../../ops/stats.ts';
import { markInWords } from '../../ops/releases.ts';
import { age, number, shortTime } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { eventsHref } from '../parts/filter-fields.ts';
import { StoredText } from '../parts/stored-text.tsx';
import { Time } from '../parts/time.tsx';
import { across, ChartFigure, Level, TimeAxis, type Span, BOTTOM, TOP } from './chart-frame.tsx';

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

/** What bars count. */
const outcomes = ['stored', 'processed', 'failed', 'dead', 'rejected'] as const satisfies readonly (
  | Ending
  | 'stored'
)[];
type Outcome = (typeof outcomes)[number];

const OUTCOME_WORDS = {
  stored: 'received',
  processed: 'processed',
  failed: 'failed (to be retried)',
  dead: 'dead',
  rejected: 'rejected',
} as const satisfies Record<Outcome, string>;

/** Bars with a scale of their own: a few dead ones are seen however many are processed, and however many are rejected. */
interface Plot {
  readonly name: string;
  /** side by side; of those in one list the first stands at the bottom */
  readonly bars: readonly (readonly Outcome[])[];
  readonly height: number;
}

const WENT_WELL: Plot = { name: 'received and processed', bars: [['stored'], ['processed']], height: 84 };
const WENT_WRONG: Plot = { name: 'failed and dead', bars: [['dead', 'failed']], height: 84 };
const REJECTED: Plot = { name: 'rejected', bars: [['rejected']], height: 44 };

interface PlacedPlot extends Plot {
  /** where it ends, in pixels from the top */
  readonly baseLine: number;
  /** what its height stands for */
  readonly top: number;
}

/**
 * The plots of a chart, one below the other, and how high all are.
 *
 * @param above - room for what stands above them, in pixels
 */
function placedPlots(
  steps: readonly StatsStep[],
  above: number,
): {
  readonly plots: readonly PlacedPlot[];
  readonly height: number;
} {
  const wasRejected = steps.some(({ rejected }) => rejected > 0);
  let baseLine = above;
  const plots = [WENT_WELL, WENT_WRONG, ...(wasRejected ? [REJECTED] : [])].map((plot) => {
    const highest = Math.max(
      0,
      ...steps.flatMap((step) =>
        plot.bars.map((stack) => stack.reduce((sum, outcome) => sum + countOf(step, outcome), 0)),
      ),
    );
    baseLine += TOP + 4 + plot.height;
    return { ...plot, baseLine, top: niceCeiling(highest) };
  });
  return { plots, height: baseLine + BOTTOM };
}

function countOf(step: StatsStep, outcome: Outcome): number {
  return outcome === 'rejected' ? step.rejected : step[outcome];
}

/** One dead event among a thousand is what one looks for: nothing that happened is too low to be seen. */
function barHeight(count: number, { top, height }: Pick<PlacedPlot, 'top' | 'height'>): number {
  return count === 0 ? 0 : Math.max(2, Math.round((count / top) * height * 10) / 10);
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

/** How an attempt, or an event, ended; or that a delivery was not taken in. */
type Ending = 'processed' | 'failed' | 'dead' | 'rejected';

/** A bar in the colour of what it counts, with its pattern over it. */
export function Bar({
  chart,
  outcome,
  ...place
}: {
  /** the id of the chart, which has the patterns */
  readonly chart: string;
  readonly outcome: Ending | 'stored';
  readonly x: string;
  readonly width: string;
  readonly y: number;
  readonly height: number;
}) {
  if (place.height === 0) return <></>;
  return (
    <>
      <rect class={outcome} {...place} />
      {outcome !== 'processed' && outcome !== 'stored' && <rect fill={`url(#${chart}-${outcome})`} {...place} />}
    </>
  );
}

/** Stripes for what failed, a grid for what is dead, lines for what was rejected. */
export function Patterns({ id }: { readonly id: string }) {
  return (
    <defs>
      <pattern id={`${id}-failed`} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <line class="pattern" x1="1" x2="1" y1="0" y2="5" />
      </pattern>
      <pattern id={`${id}-dead`} width="4" height="4" patternUnits="userSpaceOnUse">
        <line class="pattern" x1="0" x2="4" y1="1" y2="1" />
        <line class="pattern" x1="1" x2="1" y1="0" y2="4" />
      </pattern>
      <pattern id={`${id}-rejected`} width="4" height="4" patternUnits="userSpaceOnUse">
        <line class="pattern" x1="0" x2="4" y1="1" y2="1" />
      </pattern>
      <pattern
        id={`${id}-unfinished`}
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(-45)"
      >
        <line class="faint" x1="1" x2="1" y1="0" y2="6" />
      </pattern>
    </defs>
  );
}

/** So many of the newest have a line: more would be a wall. */
const MOST_LINES = 12;
const MOST_LISTED = 6;
/** Room for the name of the newest, through which no line and no dot runs. */
const NAME_ROW = 16;
const DOT = 4;
/** Room above the plots for that and for the dots. */
const MARK_ROW = NAME_ROW + 2 * DOT + 1;

/** A line from its dot to the bottom where something began. */
function MarkLines({
  marks,
  steps,
  stepMs,
  now,
  height,
}: Span & { readonly marks: readonly Mark[]; readonly height: number }) {
  const first = steps[0]?.at.getTime() ?? 0;
  return (
    <>
      {marks.slice(-MOST_LINES).map((mark, n, shown) => {
        const part = (mark.at.getTime() - first) / stepMs / steps.length;
        const x = across(part, 1);
        return (
          <g class={`began ${mark.kind}`}>
            <title>
              {shortTime(mark.at, now)}: {markInWords(mark)}
            </title>
            <line x1={x} x2={x} y1={NAME_ROW} y2={height} />
            <circle cx={x} cy={NAME_ROW + DOT} r={DOT} />
            {/* Of all it would be on top of one another; beneath, each has its name. */}
            {n === shown.length - 1 && (
              <text x={x} dx={part > 0.5 ? -8 : 8} y={12} text-anchor={part > 0.5 ? 'end' : 'start'}>
                {mark.kind === 'release' ? oneLine(mark.name, 16) : 'new secret'}
              </text>
            )}
          </g>
        );
      })}
    </>
  );
}

/** The same in words, the newest first. */
function MarkList({ marks, now }: { readonly marks: readonly Mark[]; readonly now: Date }) {
  if (marks.length === 0) return <></>;
  return (
    <ul class="marks" id="marks">
      {marks
        .slice(-MOST_LISTED)
        .toReversed()
        .map((mark) => (
          <li>
            <svg class="chart key" width="10" height="14" aria-hidden="true">
              <g class={`began ${mark.kind}`}>
                <circle cx="5" cy="8" r="4" />
              </g>
            </svg>{' '}
            <StoredText text={markInWords(mark)} /> <Time at={mark.at} now={now} />
          </li>
        ))}
    </ul>
  );
}

/** What a link of a bar needs. */
interface StepLinks {
  readonly base: string;
  readonly stepMs: number;
}

/** The events that a bar counts, as far as a filter can say. */
function outcomeHref(
  outcome: 'stored' | 'processed' | 'failed' | 'dead' | 'rejected',
  { at }: StatsStep,
  { base, stepMs }: StepLinks,
): string {
  const until = new Date(at.getTime() + stepMs);
  switch (outcome) {
    case 'stored':
      return eventsHref(base, { since: at, until });
    case 'processed':
      // It is counted when it was processed, which is soon after it came, if not at once.
      return eventsHref(base, { states: ['processed'], since: at, until });
    case 'failed':
      // Without what has failed again since, or is over by now.
      return eventsHref(base, { states: ['pending'], retrying: true, failedSince: at, failedUntil: until });
    case 'dead':
      return eventsHref(base, { states: ['dead'], failedSince: at, failedUntil: until });
    case 'rejected':
      return `${base}/rejected`;
  }
}
