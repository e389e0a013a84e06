import type { IncomingEvent } from '../event.ts';

/** Where an event begins: when it is stored, and when its body takes the place of another. */
export type FirstState =
  | { readonly state: 'pending'; readonly deadReason: null; readonly settledAt: null; readonly isFresh: true }
  | { readonly state: 'dead'; readonly deadReason: 'invalid'; readonly settledAt: number; readonly isFresh: false };

const PENDING: FirstState = Object.freeze({ state: 'pending', deadReason: null, settledAt: null, isFresh: true });

export function firstStateOf({ valid, receivedAt }: Pick<IncomingEvent, 'valid' | 'receivedAt'>): FirstState {
  return valid ? PENDING : { state: 'dead', deadReason: 'invalid', settledAt: receivedAt, isFresh: false };
}
