import { performance, turn as nextTurn } from '../../host/real-timers.ts';

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

/** Work that is done a slice at a time. */
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

  /** For how long it has worked, in milliseconds. */
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
