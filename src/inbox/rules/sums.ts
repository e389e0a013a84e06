/** Counts under names that may be anybody's text, `__proto__` too. */
export class Sums {
  readonly #counts: Map<string, number>;

  constructor(counts: Readonly<Record<string, number>> = {}) {
    this.#counts = new Map(Object.entries(counts));
  }

  /** One more of each name given. */
  add(...names: readonly string[]): this {
    for (const name of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    return this;
  }

  has(name: string): boolean {
    return this.#counts.has(name);
  }

  get size(): number {
    return this.#counts.size;
  }

  toRecord(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
