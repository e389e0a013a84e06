import type { BodyRead } from '../src/index.ts';

/** How long a client may go on sending a body that was refused, so that it sees the answer before the connection ends. */
export const LINGER_MS = 2_000;
/** And how much of it is read and thrown away: enough for a client that writes it all before it reads. */
const LINGER_BYTES = 4 * 1024 * 1024;
/** Throwing a chunk away takes time, however little is in it: it counts for so much at least. */
const LEAST_WEIGHT = 1024;

const UNREAD = ['too-large', 'tiny-chunks', 'too-slow', 'no-room'] as const satisfies readonly BodyRead['ended'][];

/** The ways a reading ends while the client is still sending. */
export type Unread = (typeof UNREAD)[number];

export function isUnread(ended: BodyRead['ended']): ended is Unread {
  return UNREAD.some((unread) => unread === ended);
}

/** Weighs what is thrown away of one body; each chunk is answered with whether that was enough. */
export function discardScale(): (chunkLength: number) => boolean {
  let weight = 0;
  return (chunkLength) => {
    weight += Math.max(chunkLength, LEAST_WEIGHT);
    return weight > LINGER_BYTES;
  };
}
