import { performance, turn as nextTurn, delay } from '../../host/real-timers.ts';

/** For so long one piece of work keeps the event loop. */
const SLICE_MS = 10;

/** The searches that wait for a turn, in the order of their arrival. */
const waiting = new Set<() => void>();
let isGivingTurns = false;

/**
 * Waits for its own turn of the event loop. However many searches run at once, the receiver takes deliveries between
 * two slices. An aborted search leaves the queue at once.
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

  /**
   * Waits for its first turn.
   *
   * @throws the signal's reason when its caller no longer wants the result
   */
  static async begin(signal?: AbortSignal): Promise<SlicedWork> {
    await ownTurn(signal);
    const work = new SlicedWork(signal);
    work.#startedAt = performance.now();
    return work;
  }

  get workedMs(): number {
    return this.#workedMs + this.#sliceMs;
  }

  /** Whether this slice is over: rest before going on. */
  get isOver(): boolean {
    return this.#sliceMs > SLICE_MS;
  }

  /**
   * Lets others have their turns. What was read from a connection before may be out of date afterwards.
   *
   * @throws the signal's reason when its caller no longer wants the result
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
/** So many times as long as a batch took the writer is left alone: a tenth of its time is enough for this. */
const REST = 9;
const COARSEN_EVERY_MS = 60_000;
/** Counts are kept by the minute for as long as the day's charts need them, and by the hour before that. */
const MINUTES_KEPT_MS = 25 * 60 * 60_000;

/**
 * Enters new events into the index of entities and merchants, and sums old counts up.
 *
 * @param how - stops before the next step once `isOpen` says false. `upTo` is the `seq` of the last event to enter; without it
 * the work has no end while events come in, so its timers do not hold the process
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
    // A backlog of events may take hours, in which there are more and more counts.
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
