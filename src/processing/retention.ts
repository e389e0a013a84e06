import { delay, performance } from '../host/real-timers.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Scope } from '../inbox/work.ts';
import { assertOptions, type KnownOptions } from '../known-options.ts';
import { positive } from '../number-option.ts';

/** How long the inbox keeps events. */
export interface RetentionOptions {
  /**
   * Days after which a processed event becomes a tombstone. With `Infinity`, hookbox keeps all events.
   *
   * @defaultValue 30
   */
  readonly processedDays?: number;
}

const OPTIONS: KnownOptions<RetentionOptions> = { processedDays: true };
const BATCH = 100;
const DAY_MS = 24 * 60 * 60_000;
/** After each batch the writer is left alone for so many times as long. */
const REST = 3;

interface PruningOptions {
  readonly inbox: Pick<Inbox, 'prune'>;
  readonly endpoints: Scope['endpoints'];
  readonly now: () => number;
  /** asked before each batch; with `false` it stops */
  readonly isOpen: () => boolean;
}

/**
 * What makes tombstones of events that are old enough, a batch at a time.
 *
 * @throws ConfigurationError `INVALID_OPTION` for a number of days that cannot work, and for options that there are not
 */
export function pruning(
  retention: RetentionOptions,
  { inbox, endpoints, now, isOpen }: PruningOptions,
): () => Promise<void> {
  assertOptions('retention', retention, OPTIONS);
  const { processedDays = 30 } = retention;
  const processedMs = positive('processedDays', processedDays, Infinity) * DAY_MS;
  return async () => {
    if (processedMs === Infinity) return;
    for (let pruned = Infinity; pruned > 0 && isOpen();) {
      const startedAt = performance.now();
      pruned = await inbox.prune(endpoints, now() - processedMs, BATCH);
      if (pruned > 0) await delay(REST * (performance.now() - startedAt), undefined, { ref: false });
    }
  };
}
