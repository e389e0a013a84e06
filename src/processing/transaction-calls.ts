import { causesOf, InboxUnavailableError, isInstance, TransactionError } from '../errors.ts';
import type { DefaultDatabase } from '../inbox/work.ts';
import { type HandlerContext, OfferedPromise } from './handlers.ts';

/** Any thrown value, also `null`. */
export interface Thrown {
  readonly error: unknown;
}

interface Call {
  state: 'running' | 'committed' | { readonly failure: unknown };
  /** the handler has awaited it */
  isAwaited: boolean;
  readonly ended: Promise<void>;
}

type Run = <T>(work: (database: DefaultDatabase) => T) => Promise<T>;

const TWICE = 'ctx.transaction can be called only once per attempt. Put all writes into one call.';
const OVER = 'ctx.transaction was called after the handler ended, so nothing was committed. Await it in the handler.';

export class TransactionCalls {
  readonly #run: Run;
  readonly #calls: Call[] = [];
  readonly #giveUp = new AbortController();
  #isOver = false;

  /** @param running - runs a transaction, until the attempt is given up */
  constructor(running: (givenUp: AbortSignal) => Run) {
    this.#run = running(this.#giveUp.signal);
  }

  readonly call: HandlerContext['transaction'] = (work) => {
    // `work` may return a value or a promise; this function treats them alike.
    const promise = this.#begin(work as (database: DefaultDatabase) => never);
    const call: Call = {
      state: 'running',
      isAwaited: false,
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
    const noteAwait = (): void => {
      if (!this.#isOver) call.isAwaited = true;
    };
    return new OfferedPromise(promise, { promise, noteAwait });
  };

  readonly #begin: Run = (work) => {
    if (this.#isOver) return Promise.reject(new TransactionError('ATTEMPT_OVER', OVER));
    const isTaken = this.#calls.some(({ state }) => state === 'running' || state === 'committed');
    return isTaken || this.spoiled?.code === 'COMMITTED_BY_ITSELF'
      ? Promise.reject(new TransactionError('ALREADY_COMMITTED', TWICE))
      : this.#run(work);
  };

  /** The handler has ended, so it cannot deal with later failures. */
  close(): void {
    this.#isOver = true;
  }

  async settled(): Promise<void> {
    await Promise.all(this.#calls.map(({ ended }) => ended));
  }

  /** Ends functions that still run, and waits for those that are being committed. */
  async giveUp(): Promise<void> {
    this.#giveUp.abort();
    await this.settled();
  }

  get isRunning(): boolean {
    return this.#calls.some(({ state }) => state === 'running');
  }

  get committed(): boolean {
    return this.#calls.some(({ state }) => state === 'committed');
  }

  /** Its function itself has ended the transaction. */
  get spoiled(): TransactionError | null {
    return this.#failureWith((code) => code.endsWith('_BY_ITSELF'));
  }

  /** It ended because hookbox gave up the attempt. */
  get givenUp(): TransactionError | null {
    return this.#failureWith((code) => code === 'GIVEN_UP');
  }

  /**
   * The failure of a call that the handler did not await. A handler that awaited it and then returned has accepted
   * the result, so the event is processed.
   */
  get unawaited(): Thrown | null {
    const first = this.#failures().find(({ isAwaited }) => !isAwaited);
    return first === undefined ? null : { error: first.failure };
  }

  /** Whether the handler failed because the file of the inbox was unavailable. */
  isWithoutFile(thrown: unknown): boolean {
    const failures = new Set(this.#failures().map(({ failure }) => failure));
    return causesOf(thrown).some((cause) => isInstance(cause, InboxUnavailableError) && failures.has(cause));
  }

  #failureWith(isMeant: (code: TransactionError['code']) => boolean): TransactionError | null {
    for (const { failure } of this.#failures()) {
      if (isInstance(failure, TransactionError) && isMeant(failure.code)) return failure;
    }
    return null;
  }

  #failures(): { readonly failure: unknown; readonly isAwaited: boolean }[] {
    return this.#calls.flatMap(({ state, isAwaited }) =>
      typeof state === 'object' ? [{ failure: state.failure, isAwaited }] : [],
    );
  }
}
