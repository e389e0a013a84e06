/** The promise of ours that others follow, and who wants to know that somebody has waited for its end. */
interface Origin {
  readonly promise: Promise<unknown>;
  heard(): void;
}

/**
 * A promise as it is given to a handler, which need not wait for it. When it rejects, that is no unhandled rejection, nor
 * is it one of what follows from it by `then`, `catch` and `finally`; whoever awaits one of them is told all the same. What
 * a handler's own function throws after a success is the handler's, as with any promise.
 *
 * It tells when somebody has waited for its end, directly or for what follows from it: `await`, `return` and `Promise.all`
 * listen to both ends, success and failure, while `catch` and `finally` alone wait for nothing.
 */
export class OfferedPromise<T> extends Promise<T> {
  readonly #origin: Origin;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** @param origin - `promise` itself, or what it follows from */
  constructor(promise: Promise<T>, origin: Origin) {
    super((resolve) => resolve(promise));
    this.#origin = origin;
    origin.promise.catch(() => void super.then(undefined, () => {}));
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise has it; this one counts who uses it
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (typeof onFulfilled !== 'function' || typeof onRejected !== 'function') {
      return new OfferedPromise(super.then(onFulfilled, onRejected), this.#origin);
    }
    const hearing = <Value, Result>(listener: (value: Value) => Result) => {
      return (value: Value): Result => {
        this.#origin.heard();
        return listener(value);
      };
    };
    return new OfferedPromise(super.then(hearing(onFulfilled), hearing(onRejected)), this.#origin);
  }

  /** The one that is built in would listen to both ends. */
  override finally(onFinally?: (() => void) | null): Promise<T> {
    return new OfferedPromise(super.then((value) => value).finally(onFinally), this.#origin);
  }
}
