import type { Child, PropsWithChildren } from 'hono/jsx';
import type { StatsStep } from '../../ops/stats.ts';
import { axisTime } from '../../ops/words/format.ts';

// Charts are as wide as there is room: they place by percent across and by pixels down, so nothing is stretched. They are
// styled by class only, because the page allows no inline styles.

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
  readonly legend: Child;
  readonly table: Child;
  readonly below?: Child;
}>) {
  return (
    <figure class="panel" id={id}>
      <figcaption>
        <h2>{title}</h2>
        <ul class="legend">{legend}</ul>
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

export function legendItem(width: number, key: Child, name: string, figure?: string) {
  return (
    <li>
      <svg class="chart key" width={width} height="14" aria-hidden="true">
        {key}
      </svg>{' '}
      {name}
      {figure !== undefined && (
        <>
          {' '}
          <strong>{figure}</strong>
        </>
      )}
    </li>
  );
}

export function timeAxis({ steps, stepMs, now }: Span, baseLine: number) {
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

export function level(y: number, label: string, mark = false) {
  return (
    <g class={mark ? 'level mark' : 'level'}>
      <line x1="0" x2="100%" y1={y} y2={y} />
      <text x="2" y={y - 3}>
        {label}
      </text>
    </g>
  );
}

export function across(step: number, of: number): string {
  return `${Math.round((step / of) * 1_000_000) / 10_000}%`;
}
