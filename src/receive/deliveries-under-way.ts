/** Deliveries that are not answered yet. */
export class UnderWay {
  #count = 0;
  #onNone = (): void => {};

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone();
  }

  /** Resolves when all are answered. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      this.#onNone = resolve;
      if (this.#count === 0) resolve();
    });
  }
}
