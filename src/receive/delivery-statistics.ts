import { createHash } from 'node:crypto';
import { ownContext } from '../host/own-context.ts';
import { clearTimeout, setTimeout } from '../host/real-timers.ts';
import { unrefTimer } from '../host/unref-timer.ts';
import type { Delivery } from './delivery.ts';
import type { Counts, Rejection } from '../inbox/operator/counts.ts';
import { latencyBucket, minuteOf, Tally } from '../inbox/rules/counted.ts';
import type { Outcome } from './outcome.ts';

export interface DeliveryStatistics {
  note(delivery: Delivery, outcome: Outcome, tookMs: number, body: Uint8Array | null): void;
  /** Resolves even if the inbox fails. */
  flush(): Promise<void>;
}

/** Writes less often than deliveries arrive, for a busy hour or an attack. */
const FLUSH_MS = 1_000;
/** Kinds of rejections between two writes; above this number, only the reason counts. */
const MAX_KINDS = 1_000;

interface NotedRejection extends Rejection {
  count: number;
  at: number;
}

/** A crash loses the statistics of the last second. */
export function deliveryStatistics(
  operations: Pick<Counts, 'count' | 'noteRejected'> | undefined,
  endpoint: string,
): DeliveryStatistics {
  if (operations === undefined) return { note() {}, flush: async () => {} };
  const counts = new Tally();
  let rejections = new Map<string, NotedRejection>();
  const inOwnContext = ownContext();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  /** While the file is locked, the next write waits here instead of in its queue. */
  async function flush(): Promise<void> {
    clearTimeout(timer);
    await writing;
    writing = write();
    await writing;
    timer = undefined;
    if (!counts.isEmpty || rejections.size > 0) flushLater();
  }

  function flushLater(): void {
    timer ??= inOwnContext(() => unrefTimer(setTimeout(() => void flush(), FLUSH_MS)));
  }

  async function write(): Promise<void> {
    const refused = [...rejections.values()];
    rejections = new Map();
    const at = minuteOf(Date.now());
    const rows = counts.take().map((total) => ({ at, ...total }));
    // A failing inbox is reported elsewhere.
    await Promise.allSettled([
      rows.length > 0 && operations?.count(rows),
      refused.length > 0 && operations?.noteRejected(refused),
    ]);
  }

  function noteRejection(rejection: Rejection): void {
    const key = JSON.stringify(rejection);
    const alike = rejections.get(key);
    if (alike !== undefined) {
      alike.count += 1;
      alike.at = Date.now();
    } else {
      const isCoarse = rejection.bytes === null && rejection.sha256 === null && rejection.source === null;
      if (isCoarse || rejections.size < MAX_KINDS) rejections.set(key, { ...rejection, count: 1, at: Date.now() });
      else noteRejection({ ...rejection, bytes: null, sha256: null, source: null });
    }
  }

  return {
    note(delivery, outcome, tookMs, body) {
      // A browser or a probe does not send a delivery.
      if ('reason' in outcome && outcome.reason === 'method-not-allowed') return;
      counts.count('answer-ms', latencyBucket(tookMs));
      const isRefused = outcome.kind === 'rejected' || outcome.kind === 'unavailable';
      if (!isRefused) counts.count('arrived', endpoint);
      else {
        counts.count('refused', `${outcome.reason} ${endpoint}`);
        noteRejection({
          endpoint,
          reason: outcome.reason,
          bytes: body?.byteLength ?? null,
          sha256: body === null ? null : createHash('sha256').update(body).digest('hex'),
          source: addressOf(delivery),
        });
      }
      flushLater();
    },
    flush,
  };
}

/** The socket may be gone. */
function addressOf(delivery: Delivery): string | null {
  try {
    return delivery.source?.() ?? null;
  } catch {
    return null;
  }
}
