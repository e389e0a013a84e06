import type { StatsStep } from '../../ops/stats.ts';
import type { Ending } from './chart-bar.tsx';
import { BOTTOM, TOP } from './chart-frame.tsx';

/** What bars count. */
export const outcomes = ['stored', 'processed', 'failed', 'dead', 'rejected'] as const satisfies readonly (
  | Ending
  | 'stored'
)[];
export type Outcome = (typeof outcomes)[number];

export const OUTCOME_WORDS = {
  stored: 'received',
  processed: 'processed',
  failed: 'failed (to be retried)',
  dead: 'dead',
  rejected: 'rejected',
} as const satisfies Record<Outcome, string>;

/** Bars with a scale of their own: a few dead ones are seen however many are processed, and however many are rejected. */
export interface Plot {
  readonly name: string;
  /** side by side; of those in one list the first stands at the bottom */
  readonly bars: readonly (readonly Outcome[])[];
  readonly height: number;
}

const WENT_WELL: Plot = { name: 'received and processed', bars: [['stored'], ['processed']], height: 84 };
const WENT_WRONG: Plot = { name: 'failed and dead', bars: [['dead', 'failed']], height: 84 };
const REJECTED: Plot = { name: 'rejected', bars: [['rejected']], height: 44 };

export interface PlacedPlot extends Plot {
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
export function placedPlots(
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

export function countOf(step: StatsStep, outcome: Outcome): number {
  return outcome === 'rejected' ? step.rejected : step[outcome];
}

/** One dead event among a thousand is what one looks for: nothing that happened is too low to be seen. */
export function barHeight(count: number, { top, height }: Pick<PlacedPlot, 'top' | 'height'>): number {
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
