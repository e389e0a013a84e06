import { performance, turn as nextTurn } from '../../host/real-timers.ts';

/** For so long one piece of work keeps the event loop. */
const SLICE_MS = 10;

/** Ends after the turns of all who have asked so far. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Waits for a turn of the event loop that nobody else has: however many look something up at once, deliveries are taken in
 * between two slices of it.
 */
async function ownTurn(): Promise<void> {
  const before = last;
  const mine = before.then(() => nextTurn());
  last = mine;
  await mine;
}

/** Work that is done a slice at a time. */
export class SlicedWork {
  readonly #signal: AbortSignal | undefined;
  #startedAt = 0;
  #workedMs = 0;

  private constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Waits for its first turn. */
  static async begin(signal?: AbortSignal): Promise<SlicedWork> {
    await ownTurn();
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
   * @throws the signal's reason when nobody wants its result any more
   */
  async rest(): Promise<void> {
    this.#workedMs = this.workedMs;
    await ownTurn();
    this.#signal?.throwIfAborted();
    this.#startedAt = performance.now();
  }

  get #sliceMs(): number {
    return performance.now() - this.#startedAt;
  }
}
