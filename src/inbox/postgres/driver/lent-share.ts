/** How many connections handlers may hold at once. Who comes first is served first. */
export class LentShare {
  readonly #most: () => number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** @param most - asked each time, as a pool may be resized */
  constructor(most: () => number) {
    this.#most = most;
  }

  /** How many handlers can hold a connection at once. */
  get size(): number {
    return this.#most();
  }

  /**
   * Waits until the share has room for one more.
   *
   * @param signal - gives up waiting
   * @returns gives the place back
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#taken >= this.#most()) await this.#turn(signal);
    else this.#taken += 1;
    return () => this.#leave();
  }

  #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = (): void => {
      this.#waiting.delete(turn);
      reject(signal.reason as Error);
    };
    const turn = (): void => {
      signal.removeEventListener('abort', stop);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
    this.#waiting.add(turn);
    return promise;
  }

  /** Gives the place to the caller that has waited longest. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined || this.#taken > this.#most()) {
      this.#taken -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
