import type { BodyRead } from '../src/index.ts';

/** A client may send the rest of a rejected body for this long, so that it receives the response. */
export const LINGER_MS = 2_000;
/** Enough for a client that writes everything before it reads. */
const LINGER_BYTES = 4 * 1024 * 1024;
/** A chunk costs time, even an empty one. */
const LEAST_WEIGHT = 1024;

const UNREAD = ['too-large', 'tiny-chunks', 'too-slow', 'no-room'] as const satisfies readonly BodyRead['ended'][];

export type Unread = (typeof UNREAD)[number];

export function isUnread(ended: BodyRead['ended']): ended is Unread {
  return UNREAD.some((unread) => unread === ended);
}

export function discardScale(): (chunkLength: number) => boolean {
  let weight = 0;
  return (chunkLength) => {
    weight += Math.max(chunkLength, LEAST_WEIGHT);
    return weight > LINGER_BYTES;
  };
}
