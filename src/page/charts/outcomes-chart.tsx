import type { Mark } from '../../inbox/rules/marks.ts';
import type { StatsStep } from '../../ops/stats.ts';
import { markInWords } from '../../ops/releases.ts';
import { number, shortTime } from '../../ops/words/format.ts';
import { oneLine } from '../../printable.ts';
import { eventsHref } from '../parts/filter-fields.ts';
import { DataTable, type Column } from '../parts/list-table.tsx';
import { rangeQuery } from '../parts/range.tsx';
import { StoredText, Time } from '../parts/text.tsx';
import { across, BOTTOM, ChartFigure, keyOf, level, seriesItem, timeAxis, TOP, type Span } from './chart-frame.tsx';

const OUTCOMES = ['stored', 'processed', 'failed', 'dead', 'rejected'] as const;
type Outcome = (typeof OUTCOMES)[number];

const WORDS: Readonly<Record<Outcome, string>> = {
  stored: 'received',
  processed: 'processed',
  failed: 'failed (to be retried)',
  dead: 'dead',
  rejected: 'rejected',
};

/** Each plot has its own scale, so that a few dead events are visible beside thousands of processed ones. */
interface Plot {
  readonly name: string;
  readonly bars: readonly (readonly Outcome[])[];
  readonly height: number;
}

const WENT_WELL: Plot = { name: 'received and processed', bars: [['stored'], ['processed']], height: 84 };
const WENT_WRONG: Plot = { name: 'failed and dead', bars: [['dead', 'failed']], height: 84 };
const REJECTED: Plot = { name: 'rejected', bars: [['rejected']], height: 44 };

interface PlacedPlot extends Plot {
  readonly baseLine: number;
  readonly top: number;
}

export function hasOutcomes(steps: readonly StatsStep[]): boolean {
  return steps.some((step) => OUTCOMES.some((outcome) => step[outcome] > 0) || step.answerMs.count > 0);
}

interface Outcomes extends Span {
  readonly base: string;
  readonly marks: readonly Mark[];
}

/** Bars are links for a mouse; the table has the same links for keys. */
export function OutcomesChart({ base, marks, ...span }: Outcomes) {
  const { steps, stepMs, now } = span;
  const plots = placedPlots(steps, marks.length === 0 ? 0 : MARK_ROW);
  const bottom = plots.at(-1)?.baseLine ?? 0;
  const totalOf = (outcome: Outcome): string => number(steps.reduce((sum, step) => sum + step[outcome], 0));
  // A low last bar may only mean that its interval has not ended.
  const isOver = ({ at }: StatsStep): boolean => at.getTime() + stepMs <= now.getTime();
  const unfinished = steps.flatMap((step, n) => (isOver(step) ? [] : [n]));
  return (
    <ChartFigure
      id="outcomes"
      title="Outcomes over time"
      description={
        `In this period: ${OUTCOMES.map((outcome) => `${totalOf(outcome)} ${WORDS[outcome]}`).join(', ')}. ` +
        busiest(steps, now)
      }
      height={bottom + BOTTOM}
      linked
      span={span}
      legend={
        <>
          {OUTCOMES.map((outcome) =>
            seriesItem(14, bar(outcome, { x: '1', width: '12', y: 1, height: 12 }), {
              name: outcome,
              words: WORDS[outcome],
              total: totalOf(outcome),
              values: steps.map((step) => number(step[outcome])),
            }),
          )}
          {unfinished.length > 0 && <li>{keyOf(14, unfinishedBar('1', '12', 1, 12))} not complete</li>}
        </>
      }
      table={outcomesTable(span, base, isOver)}
      below={markList(marks, now)}
    >
      {PATTERNS}
      {unfinished.map((n) => unfinishedBar(across(n, steps.length), across(1, steps.length), 0, bottom))}
      {plots.map((plot) => (
        <g>
          {steps.map((step, n) => stepBars(plot, step, n, span, base, isOver(step) ? '' : ' so far'))}
          <line class="base" x1="0" x2="100%" y1={plot.baseLine} y2={plot.baseLine} />
        </g>
      ))}
      {markLines(marks, span, bottom)}
      {/* After the marks, so that they pass behind these labels. */}
      {plots.map(({ baseLine, height, top, name }) => (
        <>
          <text class="plot" x="0" y={baseLine - height - 6}>
            {name}
          </text>
          {level(baseLine - height, number(top))}
          {level(baseLine - height / 2, number(top / 2))}
        </>
      ))}
      {timeAxis(span, bottom)}
    </ChartFigure>
  );
}

function busiest(steps: readonly StatsStep[], now: Date): string {
  const most = steps.reduce<StatsStep | null>((most, step) => (step.dead > (most?.dead ?? 0) ? step : most), null);
  return most === null
    ? 'No event became dead.'
    : `The interval with the most dead events (${number(most.dead)}) began at ${shortTime(most.at, now)}.`;
}

function placedPlots(steps: readonly StatsStep[], above: number): readonly PlacedPlot[] {
  const wasRejected = steps.some(({ rejected }) => rejected > 0);
  let baseLine = above;
  return [WENT_WELL, WENT_WRONG, ...(wasRejected ? [REJECTED] : [])].map((plot) => {
    const stacks = steps.flatMap((step) => plot.bars.map((stack) => stack.reduce((sum, one) => sum + step[one], 0)));
    baseLine += TOP + 4 + plot.height;
    return { ...plot, baseLine, top: niceCeiling(Math.max(0, ...stacks)) };
  });
}

/** 2, 4, 6, 8, 10, 20, 40, … */
function niceCeiling(value: number): number {
  let unit = 1;
  for (;;) {
    for (const factor of [2, 4, 6, 8]) if (value <= factor * unit) return factor * unit;
    unit *= 10;
    if (value <= unit) return unit;
  }
}

function stepBars(
  plot: PlacedPlot,
  step: StatsStep,
  n: number,
  { steps, stepMs, now }: Span,
  base: string,
  so: string,
) {
  const shown = plot.bars.flat().filter((outcome) => step[outcome] > 0);
  const [worst] = shown;
  if (worst === undefined) return null;
  const width = 0.84 / plot.bars.length;
  const column = { x: across(n, steps.length), width: across(1, steps.length) };
  return (
    <a href={outcomeHref(base, worst, step.at, stepMs)} tabindex={-1} aria-hidden="true">
      <title>
        {shortTime(step.at, now)}: {shown.map((outcome) => `${number(step[outcome])} ${WORDS[outcome]}`).join(', ')}
        {so}
      </title>
      {/* The whole column is the link, because a bar may be too small for a pointer. */}
      <rect class="hit" {...column} y={plot.baseLine - plot.height} height={plot.height} />
      {plot.bars.flatMap((stack, place) => {
        let y = plot.baseLine;
        return stack.map((outcome) => {
          const count = step[outcome];
          if (count === 0) return null;
          // One dead event among a thousand must be visible.
          const height = Math.max(2, Math.round((count / plot.top) * plot.height * 10) / 10);
          y -= height;
          const x = across(n + 0.08 + place * width, steps.length);
          return bar(outcome, { x, width: across(width, steps.length), y: Math.round(y * 10) / 10, height });
        });
      })}
    </a>
  );
}

interface Place {
  readonly x: string;
  readonly width: string;
  readonly y: number;
  readonly height: number;
}

function bar(outcome: Outcome, place: Place) {
  return (
    <>
      <rect class={outcome} {...place} />
      {outcome !== 'processed' && outcome !== 'stored' && (
        <rect class={`pattern-${outcome}`} fill={`url(#outcomes-${outcome})`} {...place} />
      )}
    </>
  );
}

function unfinishedBar(x: string, width: string, y: number, height: number) {
  return <rect class="unfinished" fill="url(#outcomes-unfinished)" x={x} width={width} y={y} height={height} />;
}

const PATTERNS = (
  <defs>
    <pattern id="outcomes-failed" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <line class="pattern" x1="1" x2="1" y1="0" y2="5" />
    </pattern>
    <pattern id="outcomes-dead" width="4" height="4" patternUnits="userSpaceOnUse">
      <line class="pattern" x1="0" x2="4" y1="1" y2="1" />
      <line class="pattern" x1="1" x2="1" y1="0" y2="4" />
    </pattern>
    <pattern id="outcomes-rejected" width="4" height="4" patternUnits="userSpaceOnUse">
      <line class="pattern" x1="0" x2="4" y1="1" y2="1" />
    </pattern>
    <pattern id="outcomes-unfinished" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
      <line class="faint" x1="1" x2="1" y1="0" y2="6" />
    </pattern>
  </defs>
);

function outcomeHref(base: string, outcome: Outcome, since: Date, stepMs: number): string {
  const until = new Date(since.getTime() + stepMs);
  const failed = { failedSince: since, failedUntil: until };
  switch (outcome) {
    case 'stored':
      return eventsHref(base, { since, until });
    case 'processed':
      // Counted when processed, which is soon after an event was received.
      return eventsHref(base, { states: ['processed'], since, until });
    case 'failed':
      // Without events that have failed again since, or are settled now.
      return eventsHref(base, { states: ['pending'], retrying: true, ...failed });
    case 'dead':
      return eventsHref(base, { states: ['dead'], ...failed });
    case 'rejected':
      return `${base}/rejected${rangeQuery(`${since.toISOString()}/${until.toISOString()}`, {})}`;
  }
}

function outcomesTable({ steps, stepMs, now }: Span, base: string, isOver: (step: StatsStep) => boolean) {
  const described = steps.filter((step) => OUTCOMES.some((outcome) => step[outcome] > 0));
  if (described.length === 0) return <p>Nothing happened in this period.</p>;
  return (
    <DataTable
      caption="Intervals without events are omitted."
      rows={described}
      columns={[
        [
          'from (UTC)',
          (step) => (
            <>
              <time datetime={step.at.toISOString()}>{shortTime(step.at, now)}</time>
              {!isOver(step) && ' (not complete)'}
            </>
          ),
        ],
        ...OUTCOMES.map((outcome): Column<StatsStep> => [
          WORDS[outcome],
          ({ at, [outcome]: count }) =>
            count === 0 ? '0' : <a href={outcomeHref(base, outcome, at, stepMs)}>{number(count)}</a>,
        ]),
      ]}
    />
  );
}

const MOST_LINES = 12;
const MOST_LISTED = 6;
const NAME_ROW = 16;
const DOT = 4;
const MARK_ROW = NAME_ROW + 2 * DOT + 1;

function markLines(marks: readonly Mark[], { steps, stepMs, now }: Span, height: number) {
  const first = steps[0]?.at.getTime() ?? 0;
  return marks.slice(-MOST_LINES).map((mark, n, shown) => {
    const part = (mark.at.getTime() - first) / stepMs / steps.length;
    const x = across(part, 1);
    return (
      <g class={`began ${mark.kind}`}>
        <title>
          {shortTime(mark.at, now)}: {markInWords(mark)}
        </title>
        <line x1={x} x2={x} y1={NAME_ROW} y2={height} />
        <circle cx={x} cy={NAME_ROW + DOT} r={DOT} />
        {/* Only the newest mark has its name here, because names would overlap. */}
        {n === shown.length - 1 && (
          <text x={x} dx={part > 0.5 ? -8 : 8} y={12} text-anchor={part > 0.5 ? 'end' : 'start'}>
            {mark.kind === 'release' ? oneLine(mark.name, 14) : 'new secret'}
          </text>
        )}
      </g>
    );
  });
}

function markList(marks: readonly Mark[], now: Date) {
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
