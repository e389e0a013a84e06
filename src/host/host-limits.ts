/** What a host that runs code only while it answers requests lets a delivery do. */
export interface HostLimits {
  /** how long this request may still take, in milliseconds; the delivery is answered within this or `deadlineMs` */
  readonly remainingMs?: number;
  /** nothing runs between requests: handlers run inline unless `processing.mode` says otherwise */
  readonly frozenBetweenRequests?: boolean;
  /** asks the host to go on until a promise has settled, although the answer was sent */
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
