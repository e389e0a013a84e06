import type { StoredEvent } from '../event.ts';
import type { Attempt } from '../work.ts';

/** An event in memory: what is shown of it, and what its handling needs. */
export type Entry = { -readonly [K in keyof StoredEvent]: StoredEvent[K] } & {
  dueAt: number;
  settledAt: number;
  failures: number;
  crashes: number;
  fence: number;
  claimedAt: number;
  leaseUntil: number;
  /** no processor has looked at it yet */
  fresh: boolean;
  trigger: Attempt['trigger'];
  readonly attempts: Attempt[];
  attemptCount: number;
  /** of the body, once it is gone */
  hash: Uint8Array | null;
};
