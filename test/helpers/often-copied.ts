import type { Rewrite } from '../crash/power-cut/rewritten-source.ts';

const REWRITTEN_SOURCE = new URL('../crash/power-cut/rewritten-source.ts', import.meta.url).href;

/** hookbox copies the log after so few pages that it does so often while deliveries come. */
export const OFTEN_COPIED: Rewrite = [
  '/opening/checkpoints.ts',
  'CHECKPOINT_BYTES = 32 * 1024 * 1024',
  'CHECKPOINT_BYTES = 50 * 2_048',
];

/** A command that runs a script of Node with other sources. */
export function withRewrites(...rewrites: readonly Rewrite[]): readonly string[] {
  return ['env', `REWRITES=${JSON.stringify(rewrites)}`, `NODE_OPTIONS=--import ${REWRITTEN_SOURCE}`];
}
