import { parentPort, workerData, type MessagePort, type Transferable, type Worker } from 'node:worker_threads';
import { InboxUnavailableError } from '../../../errors.ts';
import { boundToHere, ownContext } from '../../../host/own-context.ts';
import { clearTimeout, performance, setImmediate, setTimeout } from '../../../host/real-timers.ts';
import { loadBetterSqlite } from '../opening/better-sqlite.ts';
import { type PackedMoves, codesOf, failureData, failureFrom, type FailureData } from './messages.ts';
import type { startWorker, WorkerStart } from './start-worker.ts';

type Request =
  | CommitRequest
  | {
      readonly kind: 'operate';
      readonly name: string;
      readonly given: readonly unknown[];
      /** the caller can abort it and gets its progress; its last argument has options */
      readonly asking?: boolean;
    };

interface CommitRequest extends PackedMoves {
  readonly kind: 'commit';
  readonly isAgain: boolean;
}

export type Notice =
  | { readonly kind: 'back'; readonly loan: number }
  /** `isUseful`: the writer copies the rest */
  | { readonly kind: 'log-copied'; readonly isUseful: boolean }
  /** another thread lends or borrows the lock through this port */
  | { readonly kind: 'lock'; readonly port: MessagePort }
  /** the caller no longer waits */
  | { readonly kind: 'abort'; readonly id: number }
  | { readonly kind: 'close' };

type ToThread = (Request & { readonly id: number }) | Notice;

type FromThread =
  | { readonly kind: 'ready' }
  | { readonly kind: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: FailureData }
  | { readonly kind: 'progress'; readonly id: number; readonly progress: unknown }
  | { readonly kind: 'pending' }
  | { readonly kind: 'long-log' };

interface ThreadStart {
  readonly file: string;
  readonly loading: Loading;
}

/** Loading takes some ten milliseconds. After this limit, a delivery is stored without the thread. */
const START_LIMIT_MS = 5_000;
const CLOSE_LIMIT_MS = 11_000;
/** The wait after a start that failed for a reason that may pass. */
const AGAIN_AFTER_MS = 5_000;
const MAY_PASS: ReadonlySet<string> = new Set([
  'ERR_WORKER_INIT_FAILED',
  'ERR_WORKER_OUT_OF_MEMORY',
  'EMFILE',
  'ENFILE',
  'EAGAIN',
  'ENOMEM',
]);

/** No thread exists, and nothing was done: the caller does the work itself. */
export class NoThread extends Error {
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

interface OpenRequest {
  resolve(result: unknown): void;
  reject(failure: unknown): void;
  over(): void;
  readonly onProgress: AskOptions['onProgress'] | undefined;
}

export interface ThreadOptions {
  readonly file: string;
  readonly entry: 'writer-thread' | 'operators-thread' | 'checkpoint-thread';
  /** `startWorker`; importing it here would make a cycle */
  readonly start: typeof startWorker;
  ready?(): void;
  pending?(): void;
  longLog?(): void;
}

/**
 * The inbox's end of a thread. A thread starts with the first request, and again after it died. It keeps the process alive
 * while a request is open.
 */
export class Thread {
  readonly #options: ThreadOptions;
  /** Not in the context of the request that started the thread. */
  readonly #inOwnContext = ownContext();
  #worker: Worker | null = null;
  #loading = notBegun();
  #isReady = false;
  #tooLate: TooLate | undefined;
  #startLimit: NodeJS.Timeout | undefined;
  #requested = new Map<number, OpenRequest>();
  #lastId = 0;
  #none: NoThread | null = null;
  #noneUntil = -Infinity;
  #exited: (() => void) | undefined;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  get isReady(): boolean {
    return this.isRunning && this.#isReady;
  }

  /**
   * @throws NoThread if it cannot start; nothing was done
   * @throws InboxUnavailableError if it died; the request may have been carried out
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
      // Throws for a value that cannot be sent.
      worker.postMessage({ ...request, id } satisfies ToThread, transfer);
      if (this.#requested.size === 0) worker.ref();
      const abort = (): void => this.notify({ kind: 'abort', id });
      signal?.addEventListener('abort', abort, { once: true });
      const over = (): void => signal?.removeEventListener('abort', abort);
      this.#requested.set(id, { resolve, reject, over, onProgress: onProgress && boundToHere(onProgress) });
    });
  }

  notify(notice: Notice, transfer: readonly Transferable[] = []): void {
    this.#worker?.postMessage(notice satisfies ToThread, transfer);
  }

  /** Waits for the open requests. The thread does not start again. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#none = new NoThread(new Error('the inbox is closed'));
    this.#noneUntil = Infinity;
    if (worker === null) return;
    worker.ref();
    const { promise: exited, resolve } = Promise.withResolvers<void>();
    this.#exited = resolve;
    this.notify({ kind: 'close' });
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
      const { entry, file, start } = this.#options;
      const loading = notBegun();
      this.#loading = loading;
      const worker = start(entry, { file, loading } satisfies ThreadStart);
      this.#worker = worker;
      worker.on('message', (message: FromThread) => this.#receive(message));
      worker.on('error', (failure) => this.#died(worker, failure));
      worker.on('exit', () => this.#died(worker, null));
      this.#startLimit = setTimeout(() => {
        // After the messages that arrived while this thread was busy.
        setImmediate(() => {
          if (this.#isReady || worker !== this.#worker) return;
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

  #receive(message: FromThread): void {
    switch (message.kind) {
      case 'ready':
        this.#isReady = true;
        clearTimeout(this.#startLimit);
        if (this.#requested.size === 0) this.#worker?.unref();
        return this.#options.ready?.();
      case 'pending':
        return this.#options.pending?.();
      case 'long-log':
        return this.#options.longLog?.();
      case 'progress':
        try {
          return this.#requested.get(message.id)?.onProgress?.(message.progress);
        } catch (failure) {
          // As without a thread: the request rejects, and its work ends.
          this.notify({ kind: 'abort', id: message.id });
          return this.#take(message.id)?.reject(failure);
        }
      case 'answer':
        return this.#take(message.id)?.resolve(message.result);
      case 'failure':
        return this.#take(message.id)?.reject(failureFrom(message.failure));
    }
  }

  #take(id: number): OpenRequest | undefined {
    const pending = this.#requested.get(id);
    if (this.#requested.delete(id) && this.#requested.size === 0) this.#worker?.unref();
    pending?.over();
    return pending;
  }

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

  /** Gives up for good only when a start failed for a lasting reason. */
  #cannotStart(cause: unknown): void {
    const mayPass = cause instanceof TooLate || codesOf(cause).some((code) => MAY_PASS.has(code));
    this.#noneUntil = mayPass ? performance.now() + AGAIN_AFTER_MS : Infinity;
    this.#none = new NoThread(cause, !mayPass);
    this.#end(this.#none);
  }

  #end(failure: Error): void {
    clearTimeout(this.#startLimit);
    this.#worker = null;
    const pending = [...this.#requested.values()];
    this.#requested.clear();
    this.#exited?.();
    for (const each of pending) {
      each.over();
      each.reject(failure);
    }
  }
}

export interface Answers {
  commit?(request: CommitRequest, answer: (result: unknown) => void): void;
  readonly operations: object;
  notice?(notice: Exclude<Notice, { readonly kind: 'abort' | 'close' }>): void;
  close(): Promise<void>;
}

/** Call it first in a thread. Returns the path of the file, or ends the thread if it may no longer start. */
export function beginThread(): string {
  const { file, loading } = (workerData as WorkerStart).task as ThreadStart; // given by `Thread`
  if (!loadUnlessForbidden(loading, loadBetterSqlite)) process.exit();
  return file;
}

const port = parentPort;

export function send(message: FromThread): void {
  port?.postMessage(message);
}

export function answerRequests(answers: Answers): void {
  const controllers = new Map<number, AbortController>();

  async function operate(id: number, { name, given, asking }: Extract<Request, { kind: 'operate' }>): Promise<unknown> {
    const operation = Reflect.get(answers.operations, name) as (...given: readonly unknown[]) => unknown;
    if (asking !== true) return operation(...given);
    const controller = new AbortController();
    controllers.set(id, controller);
    const { signal } = controller;
    const onProgress = (progress: unknown): void => send({ kind: 'progress', id, progress });
    try {
      return await operation(...given.slice(0, -1), { ...Object(given.at(-1)), signal, onProgress });
    } finally {
      controllers.delete(id);
    }
  }

  async function close(): Promise<void> {
    await answers.close();
    // The port of Deno has no `close`.
    port?.unref();
  }

  port?.on('message', (message: ToThread) => {
    if (message.kind === 'abort') return controllers.get(message.id)?.abort();
    if (message.kind === 'close') return void close();
    if (!('id' in message)) return answers.notice?.(message);
    const { id } = message;
    const answered = (result: unknown): void => send({ kind: 'answer', id, result });
    const failed = (failure: unknown): void => send({ kind: 'failure', id, failure: failureData(failure) });
    if (message.kind === 'operate') return void operate(id, message).then(answered).catch(failed);
    try {
      answers.commit?.(message, answered);
    } catch (failure) {
      failed(failure);
    }
  });
}

/**
 * How far a thread has loaded better-sqlite3. Node ends the whole process if a thread is terminated during this load.
 * So the load must finish first.
 */
export type Loading = Int32Array<SharedArrayBuffer>;

const NOT_BEGUN = 0;
const BEGUN = 1;
const DONE = 2;
const FORBIDDEN = 3;
const LOOK_MS = 5;

export function notBegun(): Loading {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
}

/** Loads, unless the thread is about to be terminated. Returns whether it may continue. */
export function loadUnlessForbidden(loading: Loading, load: () => void): boolean {
  if (Atomics.compareExchange(loading, 0, NOT_BEGUN, BEGUN) === FORBIDDEN) return false;
  try {
    load();
  } catch {}
  Atomics.store(loading, 0, DONE);
  return true;
}

/** Terminates a thread, once it has loaded. */
export function terminate(worker: { terminate(): unknown }, loading: Loading): void {
  if (Atomics.compareExchange(loading, 0, NOT_BEGUN, FORBIDDEN) === BEGUN) {
    setTimeout(() => terminate(worker, loading), LOOK_MS).unref();
  } else void worker.terminate();
}
