import type { Rewrite } from '../../crash/power-cut/rewritten-source.ts';

/**
 * A bundle has no source files to rewrite, so its processes copy the log at the usual limit. On Node 24 the suites run
 * with the rewritten limit; `inbox-checks.ts` has a log copied by its thread on every runtime.
 */
export const OFTEN_COPIED: Rewrite = ['', '', ''];

export function withRewrites(): readonly string[] {
  return [];
}
