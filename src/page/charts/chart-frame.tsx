import type { Child, PropsWithChildren } from 'hono/jsx';
import type { StatsStep } from '../../ops/stats.ts';
import { axisTime } from '../../ops/words/format.ts';

// All charts are as wide as there is room: what stands in them is placed by percent across and by pixels down, so that
// neither strokes nor texts are stretched. They are styled by class only; the page allows no inline styles.

export const PLOT_HEIGHT = 132;
/** room for the label of the uppermost line */
export const TOP = 16;
/** room for the times beneath */
export const BOTTOM = 20;
export const BASE_LINE = TOP + PLOT_HEIGHT;
const HEIGHT = BASE_LINE + BOTTOM;

/** What charts are told of the span they show. */
export interface Span {
  readonly steps: readonly StatsStep[];
  readonly stepMs: number;
  readonly now: Date;
}

/** A chart with its title, its description, its legend and its figures in a table. */
export function ChartFigure({
  id,
  title,
  description,
  height = HEIGHT,
  linked = false,
  legend,
  table,
  below,
  children,
}: PropsWithChildren<{
  readonly id: string;
  readonly title: string;
  /** what the chart shows, in a sentence, for those who do not see it */
  readonly description: string;
  readonly height?: number;
  /** it has links in it, which the table has as well: those of a picture nobody hears of */
  readonly linked?: boolean;
  readonly legend?: Child;
  readonly table: Child;
  /** between the picture and its figures */
  readonly below?: Child;
}>) {
  return (
    <figure class="panel" id={id}>
      <figcaption>
        <h2>{title}</h2>
        {legend}
      </figcaption>
      <svg
        class="chart"
        width="100%"
        height={height}
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

/** Times at the beginning, in the middle and at the end. */
export function TimeAxis({ steps, stepMs, now, baseLine = BASE_LINE }: Span & { readonly baseLine?: number }) {
  const first = steps[0]?.at ?? now;
  const end = new Date(first.getTime() + steps.length * stepMs);
  const middle = new Date((first.getTime() + end.getTime()) / 2);
  const y = baseLine + 14;
  return (
    <g class="axis">
      <line x1="0" x2="100%" y1={baseLine} y2={baseLine} />
      <text x="0" y={y}>
        {axisTime(first, now)}
      </text>
      <text class="middle" x="50%" y={y} text-anchor="middle">
        {axisTime(middle, now)}
      </text>
      <text x="100%" y={y} text-anchor="end">
        {axisTime(end, now)} UTC
      </text>
    </g>
  );
}

/** A line across the chart, with what it stands for. */
export function Level({
  y,
  label,
  mark = false,
}: {
  readonly y: number;
  readonly label: string;
  readonly mark?: boolean;
}) {
  return (
    <g class={mark ? 'level mark' : 'level'}>
      <line x1="0" x2="100%" y1={y} y2={y} />
      <text x="2" y={y - 3}>
        {label}
      </text>
    </g>
  );
}

/** How far from the left something stands that is the n-th of so many. */
export function across(step: number, of: number): string {
  return `${Math.round((step / of) * 1_000_000) / 10_000}%`;
}
