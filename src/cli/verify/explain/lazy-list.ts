/** The items of a generator, each made once, and only when it is asked for. */
export class LazyList<T> implements Iterable<T> {
  readonly #made: T[] = [];
  readonly #source: Iterator<T>;

  constructor(source: Iterable<T>) {
    this.#source = source[Symbol.iterator]();
  }

  /** All items made so far. */
  get made(): readonly T[] {
    return this.#made;
  }

  *[Symbol.iterator](): Generator<T> {
    for (let index = 0; ; index += 1) {
      if (index === this.#made.length) {
        const next = this.#source.next();
        if (next.done === true) return;
        this.#made.push(next.value);
      }
      yield this.#made[index] as T;
    }
  }
}
