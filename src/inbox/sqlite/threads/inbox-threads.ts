import type { Operations } from '../../operator/operations.ts';
import type { CommitOutcome } from '../commit-group.ts';
import type { Move, ReadName } from '../jobs.ts';
import { failureFrom } from './failure-data.ts';
import { packMoves, unpackOutcomes, type PackedOutcome } from './packed-moves.ts';
import { NoThread, Thread } from './thread.ts';
import { threadedOperations } from './threaded-operations.ts';
import type { GiveBack } from './write-lock.ts';

export interface InboxThreadsOptions {
  readonly file: string;
  /** the connection is a merchant's: that its file can be opened once more is not sure */
  readonly isAdopted: boolean;
  /** operators' functions on the thread of whoever asks */
  readonly here: Operations;
  /** the `seq` of the event that was stored last, at once */
  readonly newest: () => number;
  /** told that events may have become due */
  readonly notify: () => void;
  /** told whenever the writer has started: it does the checkpoints from then on */
  readonly writerStarted: () => void;
  /** told once that all is to be done without threads from now on, and why */
  readonly unusable: (why: unknown) => void;
}

/** The threads of an inbox: one that writes, and one that operators look with. Each starts when it is first needed. */
export class InboxThreads {
  readonly operations: Operations;
  readonly #options: InboxThreadsOptions;
  readonly #writer: Thread;
  readonly #operators: Thread;
  #isUsable: boolean | 'not known yet';

  constructor(options: InboxThreadsOptions) {
    const { file, isAdopted, here, newest, notify, writerStarted } = options;
    this.#options = options;
    this.#isUsable = isAdopted ? 'not known yet' : true;
    const ready = (): void => this.#connect();
    const writerReady = (): void => {
      writerStarted();
      ready();
    };
    this.#writer = new Thread({ entry: 'writer-thread', file, ready: writerReady });
    this.#operators = new Thread({ entry: 'operators-thread', file, ready, pending: notify });
    this.operations = threadedOperations({
      writer: { ask: (...asked) => this.#ask(this.#writer, ...asked) },
      operators: { ask: (...asked) => this.#ask(this.#operators, ...asked) },
      here,
      newest,
    });
  }

  /** Where there are no threads, it is to be done again: here, from then on. */
  async commit(moves: readonly Move[], isAgain: boolean): Promise<readonly CommitOutcome[]> {
    try {
      const packed = packMoves(moves);
      const outcomes = await this.#ask(this.#writer, { kind: 'commit', isAgain, ...packed }, [packed.bodies]);
      return unpackOutcomes(outcomes as readonly PackedOutcome[]); // what the writer answers
    } catch (failure) {
      if (failure instanceof NoThread) return moves.map(() => 'busy');
      throw failure;
    }
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
      return () => this.#writer.tell({ kind: 'back', loan });
    } catch {
      // It has died, and the lock went with it.
      return () => {};
    }
  }

  async close(): Promise<void> {
    this.#isUsable = false;
    await Promise.all([this.#writer.close(), this.#operators.close()]);
  }

  /** Where one of them cannot be had, both are given up. */
  async #ask(thread: Thread, ...asked: Parameters<Thread['ask']>): Promise<unknown> {
    try {
      if (this.#isUsable !== true) await this.#tryOut();
      return await thread.ask(...asked);
    } catch (failure) {
      if (failure instanceof NoThread && this.#isUsable !== false) {
        this.#isUsable = false;
        this.#options.unusable(failure.cause);
      }
      throw failure;
    }
  }

  async #tryOut(): Promise<void> {
    const failure = this.#isUsable === false ? null : await this.#writer.start();
    // A lock goes away, and until then the writer finds the file busy.
    const isOpenable = failure === null || failure.code === 'LOCKED';
    if (isOpenable && this.#isUsable !== false) this.#isUsable = true;
    else throw new NoThread('no thread', { cause: failure && failureFrom(failure) });
  }

  /** So that one may borrow the lock of the other. */
  #connect(): void {
    if (!this.#writer.isRunning || !this.#operators.isRunning) return;
    const { port1, port2 } = new MessageChannel();
    this.#writer.tell({ kind: 'lock', port: port1 }, [port1]);
    this.#operators.tell({ kind: 'lock', port: port2 }, [port2]);
  }
}
