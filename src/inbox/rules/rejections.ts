import type { Counts, Rejection } from '../operator/counts.ts';

export type NotedRejection = Parameters<Counts['noteRejected']>[0][number];

/** Made-up bodies must not fill the disk: the kinds that were last seen longest ago go. */
export const KINDS_KEPT = 1_000;
export const NOTED_AT_ONCE = 250;
/** Longer than any address; a proxy may pass on whatever it was told. */
const MAX_SOURCE = 200;

export function keptSource({ source }: Pick<Rejection, 'source'>): string | null {
  return source?.slice(0, MAX_SOURCE) ?? null;
}
