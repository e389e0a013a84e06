import { table } from './markdown.ts';

/** What was measured for a goal, and what keeps it from being judged. */
export interface Figure {
  readonly value: number | null;
  readonly note: string | null;
}

/** One goal and what became of it. */
export interface Goal {
  readonly goal: string;
  readonly wanted: string;
  readonly stretch: string;
  readonly measured: string;
  readonly result: string;
}

interface Bounds {
  readonly wanted: number;
  readonly stretch?: number;
  readonly unit?: 'ms';
}

/** Of the commit before: as much as two measurements of the same differ by. */
export const NOT_SLOWER: Bounds = { wanted: 1.05 };

export const notMeasured: Figure = { value: null, note: 'not measured' };

export function atLeast(goal: string, bounds: Bounds, figure: Figure): Goal {
  return judged(goal, 'at least', bounds, figure, (value, bound) => value >= bound);
}

export function atMost(goal: string, bounds: Bounds, figure: Figure): Goal {
  return judged(goal, 'at most', bounds, figure, (value, bound) => value <= bound);
}

function judged(
  goal: string,
  words: string,
  { wanted, stretch, unit }: Bounds,
  { value, note }: Figure,
  holds: (value: number, bound: number) => boolean,
): Goal {
  const written = (bound: number): string => (unit === undefined ? String(bound) : `${bound} ${unit}`);
  const said = { goal, wanted: `${words} ${written(wanted)}`, stretch: stretch === undefined ? '–' : written(stretch) };
  if (value === null) return { ...said, measured: '–', result: note ?? 'not measured' };
  const result = !holds(value, wanted)
    ? 'not met'
    : stretch !== undefined && holds(value, stretch)
      ? 'met, stretch too'
      : 'met';
  const measured = unit === undefined ? value.toFixed(2) : `${value.toFixed(1)} ${unit}`;
  return { ...said, measured, result: note === null ? result : `${result} (${note})` };
}

/** Judges a run by the project's goals. A timing is no test: this only tells. */
export function goalsTable(goals: readonly Goal[]): string {
  const lines = goals.map(({ goal, wanted, stretch, measured, result }) => [goal, wanted, stretch, measured, result]);
  return `### Goals\n\n${table(['Goal', 'Wanted', 'Stretch', 'Measured', ''], lines)}`;
}
