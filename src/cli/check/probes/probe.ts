import type { ProbeOutcome } from '../check-report.ts';
import type { CheckRun } from '../check-run.ts';

/** Sends something and judges what comes back. */
export type Probe = (run: CheckRun) => Promise<ProbeOutcome>;
