import type { Transferable, Worker } from 'node:worker_threads';
import { boundToHere, ownContext } from '../../../host/own-context.ts';
import { clearTimeout, performance, setImmediate, setTimeout } from '../../../host/real-timers.ts';
import { InboxUnavailableError } from '../../../errors.ts';
import { failureFrom } from './failure-data.ts';
import type { FromThread, Notice, Request, ThreadStart, ToThread } from './messages.ts';
import { notBegun, terminate } from './loading.ts';
import { startWorker } from './start-worker.ts';
import { codesOf } from './unfit.ts';

/** Loading takes some ten milliseconds; a machine may be busy, but a delivery must find time to do without. */
const START_LIMIT_MS = 5_000;
const CLOSE_LIMIT_MS = 11_000;
/** So long nobody tries to start what could not be started at that moment. */
const AGAIN_AFTER_MS = 5_000;
/** What a machine is short of may be there a moment later. */
const OF_THE_MOMENT: ReadonlySet<string> = new Set([
  'ERR_WORKER_INIT_FAILED',
  'ERR_WORKER_OUT_OF_MEMORY',
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'ENOMEM',
]);

/** There is no thread here, or not now: what was asked for is to be done on this one. */
export class NoThread extends Error {
  /** there will never be one */
  readonly isForGood: boolean;

  constructor(cause: unknown, isForGood = true) {
    super('no thread', { cause });
    this.isForGood = isForGood;
  }
}

class TooLate extends Error {}

interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: unknown) => void) | undefined;
}

interface Asked {
  resolve(result: unknown): void;
  reject(failure: unknown): void;
  /** it waits no more */
  over(): void;
  readonly onProgress: AskOptions['onProgress'] | undefined;
}

export interface ThreadOptions extends Omit<ThreadStart, 'loading'> {
  readonly entry: 'writer-thread' | 'operators-thread' | 'checkpoint-thread';
  /** told of each start */
  ready?(): void;
  /** told that events may have become due */
  pending?(): void;
  /** runs when the checkpoint thread is to copy the log */
  longLog?(): void;
}

/**
 * A thread as whoever asks it sees it. It is started when it is first asked for something, and again when it has died;
 * it keeps the process alive only while it is asked for something.
 */
export class Thread {
  readonly #options: ThreadOptions;
  /** The thread's messages are handled in this context, not in that of the request that started the thread. */
  readonly #inOwnContext = ownContext();
  #worker: Worker | null = null;
  #loading = notBegun();
  #isReady = false;
  #tooLate: TooLate | undefined;
  #startLimit: NodeJS.Timeout | undefined;
  #asked = new Map<number, Asked>();
  #lastId = 0;
  #none: NoThread | null = null;
  /** until when there is none for reasons of the moment */
  #noneUntil = -Infinity;
  #exited: (() => void) | undefined;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** It runs, and has loaded everything. */
  get isReady(): boolean {
    return this.isRunning && this.#isReady;
  }

  /**
   * @throws NoThread where there are none
   * @throws InboxUnavailableError when it has died
   */
  ask(
    request: Request,
    transfer: readonly Transferable[] = [],
    { signal, onProgress }: AskOptions = {},
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const worker = this.#inOwnContext(() => this.#started());
      if (worker === null) return reject(this.#none);
      this.#lastId += 1;
      const id = this.#lastId;
      // What cannot be sent fails here.
      worker.postMessage({ ...request, id } satisfies ToThread, transfer);
      if (this.#asked.size === 0) worker.ref();
      const abort = (): void => this.tell({ kind: 'abort', id });
      signal?.addEventListener('abort', abort, { once: true });
      const over = (): void => signal?.removeEventListener('abort', abort);
      this.#asked.set(id, { resolve, reject, over, onProgress: onProgress && boundToHere(onProgress) });
    });
  }

  /** Nothing happens where it does not run. */
  tell(notice: Notice, transfer: readonly Transferable[] = []): void {
    this.#worker?.postMessage(notice satisfies ToThread, transfer);
  }

  /** Lets it finish what it was asked for; it is not started again. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#none = new NoThread(new Error('the inbox is closed'));
    this.#noneUntil = Infinity;
    if (worker === null) return;
    worker.ref();
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    this.#exited = resolve;
    this.tell({ kind: 'close' });
    const limit = setTimeout(() => {
      this.#end(new InboxUnavailableError('CLOSED', 'the inbox thread did not end in time'));
      terminate(worker, this.#loading);
    }, CLOSE_LIMIT_MS);
    await exited;
    clearTimeout(limit);
  }

  #started(): Worker | null {
    if (this.#none !== null && performance.now() < this.#noneUntil) return null;
    if (this.#worker !== null) return this.#worker;
    this.#isReady = false;
    this.#tooLate = undefined;
    try {
      const { entry, file } = this.#options;
      const loading = notBegun();
      this.#loading = loading;
      const worker = startWorker(entry, { file, loading } satisfies ThreadStart);
      this.#worker = worker;
      worker.on('message', (message: FromThread) => this.#hear(message));
      worker.on('error', (failure) => this.#died(worker, failure));
      worker.on('exit', () => this.#died(worker, null));
      this.#startLimit = setTimeout(() => {
        // What it has said while this thread was busy is heard first.
        setImmediate(() => {
          if (this.#isReady || worker !== this.#worker) return;
          // Given up when it has ended: until then it may still do what it was asked for.
          this.#tooLate = new TooLate(`it did not start within ${START_LIMIT_MS / 1_000} s`);
          terminate(worker, loading);
        });
      }, START_LIMIT_MS).unref();
      worker.unref();
      return worker;
    } catch (failure) {
      this.#cannotStart(failure);
      return null;
    }
  }

  #hear(message: FromThread): void {
    switch (message.kind) {
      case 'ready':
        this.#isReady = true;
        clearTimeout(this.#startLimit);
        if (this.#asked.size === 0) this.#worker?.unref();
        return this.#options.ready?.();
      case 'pending':
        return this.#options.pending?.();
      case 'long-log':
        return this.#options.longLog?.();
      case 'progress':
        try {
          return this.#asked.get(message.id)?.onProgress?.(message.progress);
        } catch (failure) {
          // As it would be thrown where there is no thread: whoever asked hears of it, and nothing goes on.
          this.tell({ kind: 'abort', id: message.id });
          return this.#take(message.id)?.reject(failure);
        }
      case 'answer':
        return this.#take(message.id)?.resolve(message.result);
      case 'failure':
        return this.#take(message.id)?.reject(failureFrom(message.failure));
    }
  }

  #take(id: number): Asked | undefined {
    const asked = this.#asked.get(id);
    if (this.#asked.delete(id) && this.#asked.size === 0) this.#worker?.unref();
    asked?.over();
    return asked;
  }

  /** What it was doing may be done or not: nobody is told that it is. */
  #died(worker: Worker, failure: unknown): void {
    if (worker !== this.#worker) return;
    if (!this.#isReady) return this.#cannotStart(failure ?? this.#tooLate ?? new Error('it ended immediately'));
    const wasClosed = this.#exited !== undefined && failure === null;
    this.#end(
      wasClosed
        ? new InboxUnavailableError('CLOSED', 'the inbox is closed')
        : new InboxUnavailableError('FAILED', 'the inbox thread died', { cause: failure ?? undefined }),
    );
  }

  /** Not its death, which may have reasons of that moment, as not every start has that fails. */
  #cannotStart(cause: unknown): void {
    const isOfTheMoment = cause instanceof TooLate || codesOf(cause).some((code) => OF_THE_MOMENT.has(code));
    this.#noneUntil = isOfTheMoment ? performance.now() + AGAIN_AFTER_MS : Infinity;
    this.#none = new NoThread(cause, !isOfTheMoment);
    this.#end(this.#none);
  }

  #end(failure: Error): void {
    clearTimeout(this.#startLimit);
    this.#worker = null;
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    this.#exited?.();
    for (const waiting of asked) {
      waiting.over();
      waiting.reject(failure);
    }
  }
}
