import { InboxUnavailableError } from '../errors.ts';
import { LATE, startDeadline, withinDeadline } from '../host/host-limits.ts';

export const PING_LIMIT_MS = 2_000;

/** Checks whether deliveries can be stored now. Concurrent callers share one check. */
export function pinger(write: () => Promise<void>): () => Promise<void> {
  // A lock may be held for hours, with probes every few seconds.
  let underWay: Promise<void> | null = null;
  return async () => {
    underWay ??= write().finally(() => {
      underWay = null;
    });
    const deadline = startDeadline(PING_LIMIT_MS);
    try {
      if ((await withinDeadline(underWay, deadline)) !== LATE) return;
    } finally {
      deadline.met();
    }
    throw new InboxUnavailableError('DEADLINE', `the database stayed locked for ${PING_LIMIT_MS / 1_000} s`);
  };
}
