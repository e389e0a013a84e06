import type { ProbeName } from './probe-names.ts';

/**
 * - `pass`: right
 * - `fault`: events are lost, forged, taken twice, or refused
 * - `warning`: harms no event, but the endpoint says something other than it means
 * - `unknown`: it cannot be seen from outside
 */
export type Verdict = 'pass' | 'fault' | 'warning' | 'unknown';

/** One thing that is wrong, or that cannot be found out. */
export interface Finding {
  readonly verdict: Exclude<Verdict, 'pass'>;
  readonly sent: string;
  readonly received: string;
  /** why it matters */
  readonly why: string;
  /** how to mend it, or how to find out */
  readonly mend: string;
}

/** What a probe has found; no findings is a pass. */
export interface ProbeOutcome {
  readonly findings: readonly Finding[];
  /** what the verdict rests on, or what else is worth knowing */
  readonly note?: string;
}

/** A probe that was run, and how it ended. */
export interface ProbeResult extends ProbeOutcome {
  readonly name: ProbeName;
  /** what is true of a right endpoint */
  readonly title: string;
  /** the worst of its findings */
  readonly verdict: Verdict;
  readonly ms: number;
}

/** How many probes ended well. */
export interface Marks {
  readonly passed: number;
  /** those that are not unknown */
  readonly judged: number;
  readonly probes: number;
}

/** All that a run has found. */
export interface CheckReport {
  readonly url: string;
  /** how the id of every event begins that was sent */
  readonly ids: string;
  readonly deadlineMs: number;
  /** the run was stopped, and probes are missing */
  readonly interrupted: boolean;
  readonly marks: Marks;
  /** all were run, and nothing but passes */
  readonly full: boolean;
  readonly probes: readonly ProbeResult[];
}

const WORST_FIRST = ['fault', 'warning', 'unknown'] as const;

/** The worst of the findings. */
export function verdictOf({ findings }: ProbeOutcome): Verdict {
  return WORST_FIRST.find((verdict) => findings.some((finding) => finding.verdict === verdict)) ?? 'pass';
}

/** Counts; what is unknown is not held against an endpoint. */
export function marksOf(results: readonly Pick<ProbeResult, 'verdict'>[]): Marks {
  return {
    passed: results.filter(({ verdict }) => verdict === 'pass').length,
    judged: results.filter(({ verdict }) => verdict !== 'unknown').length,
    probes: results.length,
  };
}
