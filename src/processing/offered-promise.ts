/** The promise that was offered first, and who is told when a handler waits for its end. */
interface Origin {
  readonly promise: Promise<unknown>;
  heard(): void;
}

/**
 * A promise as it is given to a handler, which need not wait for it. Its rejection is never an unhandled rejection, and
 * neither is that of a promise made from it with `then`, `catch` or `finally`; code that awaits one of them still gets the
 * error. What the handler's own callback throws after a success is for the handler to catch, as with any promise.
 *
 * It notes when the handler has waited for it, or for a promise made from it: `await`, `return` and `Promise.all` listen
 * to both success and failure, while `catch` or `finally` alone do not count as waiting.
 */
export class OfferedPromise<T> extends Promise<T> {
  readonly #origin: Origin;

  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** @param origin - `promise` itself, or the promise it was made from */
  constructor(promise: Promise<T>, origin: Origin) {
    super((resolve) => resolve(promise));
    this.#origin = origin;
    origin.promise.catch(() => void super.then(undefined, () => {}));
  }

  // oxlint-disable-next-line unicorn/no-thenable -- a promise has it; this one notes its use
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

  /** The built-in one would listen to both success and failure. */
  override finally(onFinally?: (() => void) | null): Promise<T> {
    return new OfferedPromise(super.then((value) => value).finally(onFinally), this.#origin);
  }
}
