import type { Child, PropsWithChildren } from 'hono/jsx';
import type { StatsStep } from '../../ops/stats.ts';
import { age, axisDay, axisTime } from '../../ops/words/format.ts';

// Charts fill the width: they position in percent across and in pixels down, so nothing is stretched. They are styled by
// class only, because the page allows no inline styles.

export const TOP = 16;
export const BOTTOM = 20;

export interface Span {
  readonly steps: readonly StatsStep[];
  readonly stepMs: number;
  readonly now: Date;
}

export function ChartFigure({
  id,
  title,
  description,
  height,
  linked = false,
  span: { steps, stepMs },
  legend,
  table,
  below,
  children,
}: PropsWithChildren<{
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly height: number;
  readonly linked?: boolean;
  readonly span: Span;
  readonly legend: Child;
  readonly table: Child;
  readonly below?: Child;
}>) {
  return (
    <figure class="panel" id={id}>
      <figcaption>
        <h2>
          {title}{' '}
          <span class="muted">
            every {age(stepMs)}, <span class="zone">UTC</span>
          </span>
        </h2>
        <ul class="legend">{legend}</ul>
      </figcaption>
      <svg
        class="chart"
        width="100%"
        height={height}
        data-since={steps[0]?.at.toISOString()}
        data-step={stepMs}
        data-steps={steps.length}
        role={linked ? 'group' : 'img'}
        aria-labelledby={`${id}-title`}
        aria-describedby={`${id}-description`}
      >
        <title id={`${id}-title`}>{title}</title>
        <desc id={`${id}-description`}>{description}</desc>
        {children}
      </svg>
      {below}
      <details id={`${id}-table`}>
        <summary>Show as a table</summary>
        {table}
      </details>
    </figure>
  );
}

interface Series {
  readonly name: string;
  readonly words: string;
  readonly total: string;
  /** a text for each step */
  readonly values: readonly string[];
}

/** The script turns it into a switch, and shows the values beside the pointer. */
export function seriesItem(width: number, key: Child, { name, words, total, values }: Series) {
  return (
    <li>
      <span data-series={name} data-values={values.join('|')}>
        {keyOf(width, key)} <span class="of">{words}</span> <strong>{total}</strong>
      </span>
    </li>
  );
}

export function keyOf(width: number, key: Child) {
  return (
    <svg class="chart key" width={width} height="14" aria-hidden="true">
      {key}
    </svg>
  );
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const TICKS_MS = [
  ...[1, 2, 5, 10, 15, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 4, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 2, 5, 7, 14, 30, 60, 90].map((days) => days * DAY_MS),
];
const MOST_TICKS = 7;
/** Beyond this, a centred label would overflow a narrow chart at the right. The left has a margin. */
const RIGHT_EDGE = 0.9;

export function timeAxis({ steps, stepMs, now }: Span, baseLine: number) {
  const first = (steps[0]?.at ?? now).getTime();
  const length = steps.length * stepMs;
  const every = TICKS_MS.find((ms) => length / ms <= MOST_TICKS) ?? length;
  const begin = Math.ceil(first / every) * every;
  const ticks = Array.from({ length: Math.floor((first + length - begin) / every) + 1 }, (_, n) => begin + n * every);
  return (
    <g class="axis">
      <line x1="0" x2="100%" y1={baseLine} y2={baseLine} />
      {ticks.map((tick, n) => {
        const part = (tick - first) / length;
        const x = across(part, 1);
        const anchor = part > RIGHT_EDGE ? 'end' : 'middle';
        return (
          <>
            <line x1={x} x2={x} y1={baseLine} y2={baseLine + 4} />
            <text
              class={n % 2 === 0 ? undefined : 'every'}
              x={x}
              y={baseLine + 15}
              text-anchor={anchor}
              data-at={new Date(tick).toISOString()}
              data-day={every >= DAY_MS ? '' : undefined}
            >
              {every >= DAY_MS ? axisDay(new Date(tick)) : axisTime(new Date(tick))}
            </text>
          </>
        );
      })}
    </g>
  );
}

/** Its label is in the margin, where no bar hides it. */
export function level(y: number, label: string, mark?: string) {
  return (
    <g class={mark === undefined ? 'level' : 'level mark'}>
      <line x1="0" x2="100%" y1={y} y2={y} />
      <text x="-8" y={y + 4} text-anchor="end">
        {label}
      </text>
      {mark !== undefined && (
        <text x="2" y={y - 4}>
          {mark}
        </text>
      )}
    </g>
  );
}

export function across(step: number, of: number): string {
  return `${Math.round((step / of) * 1_000_000) / 10_000}%`;
}
