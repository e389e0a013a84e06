import { causesOf, InboxUnavailableError, isInstance, TransactionError } from '../errors.ts';
import type { HandlerContext } from './handlers.ts';
import { OfferedPromise } from './offered-promise.ts';

/** What was thrown, which may be anything, also `null`. */
export interface Thrown {
  readonly error: unknown;
}

interface Call {
  state: 'running' | 'committed' | { readonly failure: unknown };
  /** the handler has waited for how it ended */
  heard: boolean;
  /** resolves when it has ended */
  readonly ended: Promise<void>;
}

const TWICE = 'ctx.transaction was called before for this event: put everything into one call.';
const OVER = 'ctx.transaction was called after the handler had ended; nothing was committed. Await it in the handler.';

/** The calls of `ctx.transaction` in one attempt, and what they mean for how it ends. */
export class TransactionCalls {
  readonly #run: HandlerContext['transaction'];
  readonly #calls: Call[] = [];
  #isOver = false;

  /** @param run - carries one of them out */
  constructor(run: HandlerContext['transaction']) {
    this.#run = run;
  }

  readonly call: HandlerContext['transaction'] = (work) => {
    const promise = this.#begin(work);
    const call: Call = {
      state: 'running',
      heard: false,
      ended: promise.then(
        () => {
          call.state = 'committed';
        },
        (failure: unknown) => {
          call.state = { failure };
        },
      ),
    };
    if (!this.#isOver) this.#calls.push(call);
    const heard = (): void => {
      if (!this.#isOver) call.heard = true;
    };
    return new OfferedPromise(promise, { promise, heard });
  };

  #begin: HandlerContext['transaction'] = (work) => {
    if (this.#isOver) return Promise.reject(new TransactionError('ATTEMPT_OVER', OVER));
    const isTaken = this.#calls.some(({ state }) => state === 'running' || state === 'committed');
    return isTaken || this.spoiled?.code === 'COMMITTED_BY_ITSELF'
      ? Promise.reject(new TransactionError('ALREADY_COMMITTED', TWICE))
      : this.#run(work);
  };

  /** The handler has ended: a failure that it has not heard of by now, it cannot have dealt with. */
  close(): void {
    this.#isOver = true;
  }

  /** Resolves when all of them have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#calls.map(({ ended }) => ended));
  }

  get committed(): boolean {
    return this.#calls.some(({ state }) => state === 'committed');
  }

  /** One whose function has ended the transaction itself. */
  get spoiled(): TransactionError | null {
    for (const { failure } of this.#failures()) {
      if (isInstance(failure, TransactionError) && failure.code.endsWith('_BY_ITSELF')) return failure;
    }
    return null;
  }

  /**
   * The failure of a call that the handler did not wait for, and so has not dealt with. A handler that has waited and
   * then returned has decided that the event is processed without it.
   */
  get unheard(): Thrown | null {
    const first = this.#failures().find(({ heard }) => !heard);
    return first === undefined ? null : { error: first.failure };
  }

  /**
   * Whether what a handler has thrown, or its cause, says that a transaction could not be had, as the file of the inbox was not.
   */
  isWithoutFile(thrown: unknown): boolean {
    const failures = new Set(this.#failures().map(({ failure }) => failure));
    return causesOf(thrown).some((cause) => isInstance(cause, InboxUnavailableError) && failures.has(cause));
  }

  #failures(): { readonly failure: unknown; readonly heard: boolean }[] {
    return this.#calls.flatMap(({ state, heard }) =>
      typeof state === 'object' ? [{ failure: state.failure, heard }] : [],
    );
  }
}
