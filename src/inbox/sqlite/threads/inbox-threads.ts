import type { Operations } from '../../contract.ts';
import type { CommitOutcome } from '../../group-commit.ts';
import { isShortOfDescriptors } from '../opening/access.ts';
import type { Move, ReadName } from '../jobs.ts';
import { packMoves, unpackOutcomes, type PackedOutcome } from './packed-moves.ts';
import { startWorker } from './start-worker.ts';
import { NoThread, Thread } from './thread.ts';
import { threadedOperations } from './threaded-operations.ts';
import { codesOf, UNFIT, UNFIT_BEGUN } from './failures.ts';
import type { GiveBack } from './write-lock.ts';

const CANNOT_OPEN: ReadonlySet<string> = new Set(['CANNOT_OPEN', 'NOT_A_DATABASE']);

export interface InboxThreadsOptions {
  readonly file: string;
  /** operators' functions on the thread of whoever asks */
  readonly here: Operations;
  /** the `seq` of the event that was stored last, at once */
  readonly newest: () => number;
  /** told that events may have become due */
  readonly notify: () => void;
  /** told whenever the writer has started: it does the checkpoints from then on */
  readonly writerStarted: () => void;
  /** why no thread may open the file, as far as can be told now */
  readonly whyNot: () => string | null;
  /** whether the connection that has opened the file still has the one that lies there */
  readonly isInPlace: () => boolean;
  /** told once that all is to be done without threads from now on, and why */
  readonly unusable: (why: unknown) => void;
  /** told once that operators are to look without a thread from now on, and why */
  readonly noOperators: (why: unknown) => void;
}

/** The threads of an inbox: the writer, the checkpoint thread and the operators' thread. Each starts when first needed. */
export class InboxThreads {
  readonly operations: Operations;
  readonly #options: InboxThreadsOptions;
  readonly #writer: Thread;
  readonly #operators: Thread;
  readonly #checkpoints: Thread;
  #isGivenUp = false;
  #isWithoutOperators = false;

  constructor(options: InboxThreadsOptions) {
    const { file, here, newest, notify, writerStarted } = options;
    this.#options = options;
    const ready = (): void => this.#connect();
    const writerReady = (): void => {
      writerStarted();
      ready();
    };
    const common = { file, start: startWorker };
    const longLog = (): void => void this.#copyLog();
    this.#writer = new Thread({ ...common, entry: 'writer-thread', ready: writerReady, longLog });
    this.#checkpoints = new Thread({ ...common, entry: 'checkpoint-thread' });
    this.#operators = new Thread({ ...common, entry: 'operators-thread', ready, pending: notify });
    this.operations = threadedOperations({
      writer: { ask: (...asked) => this.#ask(this.#writer, ...asked) },
      operators: { ask: (...asked) => this.#ask(this.#operators, ...asked) },
      here,
      newest,
    });
  }

  /** @throws NoThread where there is none, and nothing of it was done */
  async commit(moves: readonly Move[], isAgain: boolean): Promise<readonly CommitOutcome[]> {
    const packed = packMoves(moves);
    const answer = await this.#ask(this.#writer, { kind: 'commit', isAgain, ...packed }, [packed.bodies]);
    const outcomes = unpackOutcomes(answer as readonly PackedOutcome[]); // what the writer answers
    return outcomes.map((outcome) => {
      if (outcome === 'busy' || 'result' in outcome) return outcome;
      return this.#judged(outcome.failure) instanceof NoThread ? 'busy' : outcome;
    });
  }

  /** @throws NoThread where there are none: it is to be read here */
  read(name: ReadName, given: readonly unknown[]): Promise<unknown> {
    return this.#ask(this.#writer, { kind: 'read', name, given });
  }

  /** Asks the writer for the lock. One that was never started has not got it. */
  async borrow(): Promise<GiveBack> {
    if (!this.#writer.isRunning) return () => {};
    try {
      const loan = (await this.#writer.ask({ kind: 'borrow' })) as number; // what the writer answers
      return () => this.#writer.notify({ kind: 'back', loan });
    } catch {
      // It has died, and the lock went with it.
      return () => {};
    }
  }

  async close(): Promise<void> {
    this.#isGivenUp = true;
    await Promise.all([this.#writer.close(), this.#operators.close(), this.#checkpoints.close()]);
  }

  /** If the thread fails or cannot start, the writer copies the log. */
  async #copyLog(): Promise<void> {
    const asked = this.#ask(this.#checkpoints, { kind: 'copy-log' });
    const isUseful = (await asked.catch(() => true)) as boolean; // what the thread answers
    this.#writer.notify({ kind: 'log-copied', isUseful });
  }

  async #ask(thread: Thread, ...asked: Parameters<Thread['ask']>): Promise<unknown> {
    try {
      const why = thread.isRunning || this.#isGivenUp ? null : this.#options.whyNot();
      if (why !== null) throw new NoThread(new Error(why));
      return await thread.ask(...asked);
    } catch (failure) {
      if (failure instanceof NoThread && failure.isForGood) this.#without(thread, failure.cause);
      throw this.#judged(failure);
    }
  }

  /** Without a writer there are no threads at all. */
  #without(thread: Thread, why: unknown): void {
    if (thread === this.#writer || !this.#writer.isReady) return this.#giveUp(why);
    if (thread === this.#checkpoints) return;
    if (!this.#isWithoutOperators && !this.#isGivenUp) this.#options.noOperators(why);
    this.#isWithoutOperators = true;
  }

  #giveUp(why: unknown): void {
    if (this.#isGivenUp) return;
    this.#isGivenUp = true;
    this.#options.unusable(why);
  }

  /**
   * What a failure in a thread says of threads: `NoThread` where nothing was done and it is to be done here, as is all else
   * from then on.
   */
  #judged(failure: unknown): unknown {
    const codes = codesOf(failure);
    if (codes.includes(UNFIT_BEGUN)) {
      this.#giveUp(failure);
      return failure;
    }
    const { whyNot, isInPlace } = this.#options;
    // The file is there, and open: it is the thread that cannot have it.
    const isDenied = codes.some((code) => CANNOT_OPEN.has(code)) && isInPlace();
    if (isDenied && isShortOfDescriptors()) return new NoThread(failure, false);
    const isUnfit = isDenied || codes.includes(UNFIT);
    // Such as one that calls a function which only the application's connection has.
    const why = !isUnfit && codes.includes('SQLITE_ERROR') ? whyNot() : null;
    if (!isUnfit && why === null) return failure;
    this.#giveUp(why === null ? failure : new Error(why));
    return new NoThread(failure);
  }

  /** So that one may borrow the lock of the other. */
  #connect(): void {
    if (!this.#writer.isRunning || !this.#operators.isRunning) return;
    const { port1, port2 } = new MessageChannel();
    this.#writer.notify({ kind: 'lock', port: port1 }, [port1]);
    this.#operators.notify({ kind: 'lock', port: port2 }, [port2]);
  }
}
