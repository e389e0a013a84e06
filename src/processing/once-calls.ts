import { ConfigurationError, InboxUnavailableError, isInstance, PermanentError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Inbox } from '../inbox/contract.ts';
import { leaseLost } from '../inbox/rules/attempt.ts';
import { isStepName, RESULT_BYTES } from '../inbox/rules/steps.ts';
import type { ClaimedEvent } from '../inbox/work.ts';
import { type HandlerContext, isPlainObject, OfferedPromise } from './handlers.ts';
import { AGAIN_MS } from './limits.ts';
import type { Thrown, TransactionCalls } from './transaction-calls.ts';

interface OnceAttempt {
  readonly inbox: Pick<Inbox, 'steps' | 'keepStep'>;
  readonly event: ClaimedEvent;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly transactions: Pick<TransactionCalls, 'isRunning' | 'committed' | 'settled'>;
}

interface Call {
  readonly ended: Promise<void>;
  failure: Thrown | null;
  /** the handler has awaited it */
  isAwaited: boolean;
}

export class OnceCalls {
  readonly #of: OnceAttempt;
  readonly #names = new Set<unknown>();
  readonly #calls: Call[] = [];
  #done: Promise<ReadonlyMap<string, string | null>> | null = null;
  #isClosed = false;
  #isOver = false;
  readonly #over = Promise.withResolvers<void>();

  constructor(attempt: OnceAttempt) {
    this.#of = attempt;
  }

  /** Throws, instead of rejecting, if it is misused: a synchronous function in ctx.transaction must not continue. */
  readonly call: HandlerContext['once'] = (name, run) => {
    const misuse = this.#misuseOf(name, run);
    if (misuse !== null) throw new ConfigurationError('INVALID_OPTION', misuse);
    this.#names.add(name);
    const promise = this.#step(name, run);
    const call: Call = {
      failure: null,
      isAwaited: false,
      ended: promise.then(
        () => {},
        (error: unknown) => void (call.failure = { error }),
      ),
    };
    this.#calls.push(call);
    const noteAwait = (): void => {
      if (!this.#isClosed) call.isAwaited = true;
    };
    return new OfferedPromise(promise, { promise, noteAwait });
  };

  #misuseOf(name: unknown, run: unknown): string | null {
    const { transactions } = this.#of;
    if (!isStepName(name)) return 'ctx.once(name, run): name must be a printable text of 1 to 100 characters.';
    const call = `ctx.once(${JSON.stringify(name)})`;
    if (typeof run !== 'function') return `${call} needs a function as its second argument, not ${typeof run}.`;
    if (this.#isClosed) return `${call} was called after the handler ended. Await it in the handler.`;
    if (this.#names.has(name)) return `${call} was called twice in one attempt. Give each step its own name.`;
    if (transactions.isRunning) return `${call} was called while ctx.transaction runs. Call it before ctx.transaction.`;
    if (!transactions.committed) return null;
    return `${call} was called after ctx.transaction committed. The handler does not run again, so call it before.`;
  }

  async #step<T>(name: string, run: () => T): Promise<Awaited<T>> {
    const { inbox, event, signal, clock, transactions } = this.#of;
    const known = (await (this.#done ??= this.#load())).get(name);
    if (known !== undefined) return valueOf(known) as Awaited<T>; // of an earlier attempt
    signal.throwIfAborted();
    const result = jsonOf(name, await run());
    if (!(await this.#persistently(() => inbox.keepStep(event.lease, { name, result }, clock.now())))) {
      await transactions.settled();
      if (!transactions.committed) throw leaseLost();
    }
    return valueOf(result) as Awaited<T>; // of `run`
  }

  async #load(): Promise<ReadonlyMap<string, string | null>> {
    const { inbox, event } = this.#of;
    const { endpoint, id } = event;
    const steps = await this.#persistently(() => inbox.steps({ endpoint, id }));
    return new Map(steps.map(({ name, result }) => [name, result]));
  }

  /** A full disk must not cause another run of a step. */
  async #persistently<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (failure) {
        if (!isInstance(failure, InboxUnavailableError) || failure.code === 'CLOSED') throw failure;
        await this.#pause();
        if (this.#isOver) throw failure;
      }
    }
  }

  async #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#of.clock.after(AGAIN_MS, resolve);
    await Promise.race([promise, this.#over.promise]);
    cancel();
  }

  /** The handler has ended, so it cannot deal with later failures. */
  close(): void {
    this.#isClosed = true;
  }

  /** The attempt has ended. */
  end(): void {
    this.#isOver = true;
    this.#over.resolve();
  }

  async settled(): Promise<void> {
    await Promise.all(this.#calls.map(({ ended }) => ended));
  }

  /** The failure of a call that the handler did not await. */
  get unawaited(): Thrown | null {
    return this.#calls.find(({ failure, isAwaited }) => failure !== null && !isAwaited)?.failure ?? null;
  }
}

/** Later attempts get the same value as the first. */
function valueOf(json: string | null): unknown {
  return json === null ? undefined : JSON.parse(json);
}

/** @throws PermanentError because another attempt would run the step again, with the same result */
function jsonOf(name: string, value: unknown): string | null {
  if (value === undefined) return null;
  const refused = (why: string): PermanentError =>
    new PermanentError(
      `The step ${JSON.stringify(name)} of ctx.once ran, but its result was not kept: ${why}. Return JSON of at most 64 KiB, or nothing.`,
    );
  let json: string;
  try {
    json = JSON.stringify(value, function (this: object, key, given: unknown) {
      const kind = kindOf(Reflect.get(this, key));
      if (kind !== null) throw refused(`${key === '' ? 'it' : `its field ${JSON.stringify(key)}`} is ${kind}`);
      return given;
    });
  } catch (failure) {
    throw isInstance(failure, PermanentError) ? failure : refused('it refers to itself, or cannot be read');
  }
  const bytes = Buffer.byteLength(json);
  if (bytes > RESULT_BYTES) throw refused(`it has ${bytes} bytes`);
  return json;
}

/** `null` for a JSON value */
function kindOf(value: unknown): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : String(value);
  if (value === null || ['undefined', 'boolean', 'string'].includes(typeof value)) return null;
  if (Array.isArray(value) || isPlainObject(value)) return null;
  return typeof value === 'object' ? 'an instance of a class' : `a ${typeof value}`;
}
