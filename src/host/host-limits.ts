/** The limits of a host that runs code only while it answers requests. */
export interface HostLimits {
  /**
   * How long this request may still take, in milliseconds. The delivery is answered within this time or `deadlineMs`,
   * whichever is shorter.
   */
  readonly remainingMs?: number;
  /** `true` if no code runs between requests. Handlers then run inline, unless `processing.mode` is set. */
  readonly frozenBetweenRequests?: boolean;
  /** Asks the host to keep running until a promise settles, even after the response is sent. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

/** Asks the host to go on until work has settled. A host may refuse by throwing, which must not fail the delivery. */
export function askToWait(waitUntil: HostLimits['waitUntil'], work: Promise<unknown>): void {
  try {
    waitUntil?.(work);
  } catch {
    // The work may then be cut off, as on a host without `waitUntil`.
  }
}
