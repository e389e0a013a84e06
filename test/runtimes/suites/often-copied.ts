import type { Rewrite } from '../../crash/power-cut/rewritten-source.ts';

/** A bundle has no source to rewrite; `inbox-checks.ts` has the log copied on every runtime. */
export const OFTEN_COPIED: Rewrite = ['', '', ''];

export function withRewrites(): readonly string[] {
  return [];
}
