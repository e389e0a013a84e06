import { fingerprintOf } from '../inbox/rules/error-groups.ts';
import type { Attempt } from '../inbox/work.ts';
import type { TimelineEntry } from './find.ts';

/** So many attempts in a row that failed alike are told as one. */
const FOLDED_FROM = 3;

/** Attempts in a row that failed alike, the first one first. */
export interface FoldedAttempts {
  readonly what: 'attempts';
  readonly at: Date;
  readonly attempts: readonly [Attempt, ...Attempt[]];
  readonly last: Attempt;
}

/**
 * A timeline in which attempts that follow one another and failed alike are one entry: they have the same outcome, and their
 * errors say the same but for ids, numbers and quoted text.
 */
export function foldedTimeline(timeline: readonly TimelineEntry[]): readonly (TimelineEntry | FoldedAttempts)[] {
  const folded: (TimelineEntry | FoldedAttempts)[] = [];
  let run: Extract<TimelineEntry, { what: 'attempt' }>[] = [];
  let print: string | null = null;
  const endRun = (): void => {
    const attempts = run.map(({ attempt }) => attempt);
    const [first, ...rest] = attempts;
    const last = rest.at(-1);
    if (first !== undefined && last !== undefined && attempts.length >= FOLDED_FROM) {
      folded.push({ what: 'attempts', at: first.startedAt, attempts: [first, ...rest], last });
    } else folded.push(...run);
    run = [];
  };
  for (const entry of timeline) {
    const own = entry.what === 'attempt' ? printOf(entry.attempt) : null;
    if (own === null || own !== print) endRun();
    print = own;
    if (entry.what === 'attempt') run.push(entry);
    else folded.push(entry);
  }
  endRun();
  return folded;
}

/** What alike attempts have in common; `null` for one that is like no other. */
function printOf({ outcome, error, trigger, number }: Attempt): string | null {
  if (outcome === 'processed' || error === null) return null;
  // The first one after a rerun begins anew.
  return `${outcome} ${fingerprintOf(error)}${trigger === 'manual' ? ` from ${number}` : ''}`;
}
