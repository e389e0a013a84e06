import { performance, turn as nextTurn, delay } from '../../host/real-timers.ts';

const SLICE_MS = 10;

/** In the order of arrival. */
const waiting = new Set<() => void>();
let isGivingTurns = false;

/**
 * Receivers take deliveries between two slices, however many searches run.
 *
 * @throws the signal's reason
 */
function ownTurn(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const leave = (): void => {
      waiting.delete(begin);
      reject(signal?.reason);
    };
    const begin = (): void => {
      signal?.removeEventListener('abort', leave);
      resolve();
    };
    signal?.addEventListener('abort', leave, { once: true });
    waiting.add(begin);
    if (!isGivingTurns) void giveTurns();
  });
}

async function giveTurns(): Promise<void> {
  isGivingTurns = true;
  while (waiting.size > 0) {
    await nextTurn();
    for (const begin of waiting) {
      waiting.delete(begin);
      begin();
      break;
    }
  }
  isGivingTurns = false;
}

export class SlicedWork {
  readonly #signal: AbortSignal | undefined;
  #startedAt = 0;
  #workedMs = 0;

  private constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  static async begin(signal?: AbortSignal): Promise<SlicedWork> {
    await ownTurn(signal);
    const work = new SlicedWork(signal);
    work.#startedAt = performance.now();
    return work;
  }

  get workedMs(): number {
    return this.#workedMs + this.#sliceMs;
  }

  get isOver(): boolean {
    return this.#sliceMs > SLICE_MS;
  }

  /**
   * Connections may have newer data afterwards.
   *
   * @throws the signal's reason
   */
  async rest(): Promise<void> {
    this.#workedMs = this.workedMs;
    await ownTurn(this.#signal);
    this.#startedAt = performance.now();
  }

  get #sliceMs(): number {
    return performance.now() - this.#startedAt;
  }
}

const BATCH = 200;
/** Leaves nine tenths of the writer's time for deliveries. */
const REST = 9;
const COARSEN_EVERY_MS = 60_000;
/** The day's charts need minutes. */
const MINUTES_KEPT_MS = 25 * 60 * 60_000;

/**
 * @param how - `isOpen` is called before each step. Without `upTo`, the work may never end, so its timers do not keep
 * the process
 * alive
 */
export async function runUpkeep(
  operations: {
    indexNew(limit: number, upTo?: number): Promise<number>;
    coarsen(before: number): Promise<void>;
  },
  { now, isOpen, upTo }: { readonly now: () => number; readonly isOpen: () => boolean; readonly upTo?: number },
): Promise<void> {
  let coarsenedAt = -Infinity;
  for (let left = Infinity; left > 0 && isOpen();) {
    const startedAt = performance.now();
    // A backlog may take hours.
    if (startedAt - coarsenedAt >= COARSEN_EVERY_MS) {
      await operations.coarsen(now() - MINUTES_KEPT_MS);
      coarsenedAt = startedAt;
    }
    const workingAt = performance.now();
    left = await operations.indexNew(BATCH, upTo);
    const ref = upTo !== undefined;
    if (left > 0) await delay(REST * (performance.now() - workingAt), undefined, { ref });
  }
}
