import type { EventState } from '../state.ts';

/** What decides about a delivery whose key is known already. */
export interface KnownEvent {
  readonly state: EventState;
  readonly invalid: boolean;
  readonly verified: boolean;
  /** an operator has erased its body */
  readonly erased?: boolean;
}

export type Resolution =
  /** the first wins; only the redelivery is counted */
  | 'same'
  /** the first wins; the other body is kept beside it */
  | 'conflict'
  /** the new body takes the place of the old one, which is kept beside it if it differs */
  | 'replace'
  /** the same bytes, now with a signature: the event counts as verified from here on */
  | 'verify';

/**
 * Decides between the stored body and the one that arrived under the same key: a valid body replaces an
 * invalid one, a verified one an unverified and unprocessed one, and nothing unverified ever replaces what was verified.
 * What was erased stays away: no body takes its place.
 */
export function resolve(
  known: KnownEvent,
  incoming: { readonly valid: boolean; readonly verified: boolean; readonly sameBytes: boolean },
): Resolution {
  const settled = known.state === 'processed' || known.state === 'processing';
  const gainsTrust = incoming.verified && !known.verified;
  const losesTrust = known.verified && !incoming.verified;
  const mends = known.invalid && incoming.valid && !losesTrust;

  if (mends || (gainsTrust && !settled && !incoming.sameBytes)) {
    if (known.erased !== true) return 'replace';
    return incoming.sameBytes ? 'same' : 'conflict';
  }
  if (incoming.sameBytes) return gainsTrust ? 'verify' : 'same';
  return 'conflict';
}
