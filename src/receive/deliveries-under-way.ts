/** Deliveries that are not answered yet. */
export class UnderWay {
  #count = 0;
  #onNone = (): void => {};

  async during<T>(answering: () => Promise<T>): Promise<T> {
    this.#count += 1;
    try {
      return await answering();
    } finally {
      this.#count -= 1;
      if (this.#count === 0) this.#onNone();
    }
  }

  /** Resolves when all are answered. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNone = resolve;
      if (this.#count === 0) resolve();
    });
  }
}
