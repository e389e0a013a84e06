import { parentPort, workerData } from 'node:worker_threads';
import { loadBetterSqlite } from '../opening/better-sqlite.ts';
import { failureData } from './failure-data.ts';
import type { WorkerStart } from './start-worker.ts';
import { loadUnlessForbidden } from './loading.ts';
import type { FromThread, Notice, Request, ThreadStart, ToThread } from './messages.ts';

type Of<Kind extends Request['kind']> = Extract<Request, { readonly kind: Kind }>;

/** How a thread does what it is asked for. */
export interface Answers {
  /** What is returned is the answer; `later` is given one by and by. */
  commit?(request: Of<'commit'>, answer: (result: unknown) => void): void;
  read?(request: Of<'read'>): unknown;
  operate?(request: Of<'operate'>, asking: Asking): Promise<unknown>;
  borrow?(id: number, answer: (loan: number) => void): void;
  copyLog?(): boolean;
  told?(notice: Exclude<Notice, { readonly kind: 'abort' | 'close' }>): void;
  close(): Promise<void>;
}

/** Whoever has asked. */
export interface Asking {
  readonly signal: AbortSignal;
  readonly progress: (progress: unknown) => void;
}

const port = parentPort;

/** What the thread was started with. */
const { file, loading } = (workerData as WorkerStart).task as ThreadStart; // given by thread.ts
export { file };

// It ends the thread alone.
if (!loadUnlessForbidden(loading, loadBetterSqlite)) process.exit();

export function tell(message: FromThread): void {
  port?.postMessage(message);
}

/** Answers until it is told to close. */
export function answerRequests(answers: Answers): void {
  const asking = new Map<number, AbortController>();

  function failed(id: number, failure: unknown): void {
    tell({ kind: 'failure', id, failure: failureData(failure) });
  }

  function answer(message: Request & { readonly id: number }): void {
    const { id } = message;
    const answered = (result: unknown): void => tell({ kind: 'answer', id, result });
    switch (message.kind) {
      case 'commit':
        return answers.commit?.(message, answered);
      case 'read':
        return answered(answers.read?.(message));
      case 'borrow':
        return answers.borrow?.(id, answered);
      case 'copy-log':
        return answered(answers.copyLog?.());
      case 'operate': {
        const controller = new AbortController();
        asking.set(id, controller);
        const progress = (made: unknown): void => tell({ kind: 'progress', id, progress: made });
        void answers
          .operate?.(message, { signal: controller.signal, progress })
          .then(answered)
          .catch((failure: unknown) => failed(id, failure))
          .finally(() => asking.delete(id));
      }
    }
  }

  async function close(): Promise<void> {
    await answers.close();
    // It ends when nothing else keeps it; that of Deno has no `close`.
    port?.unref();
  }

  port?.on('message', (message: ToThread) => {
    if (message.kind === 'abort') return asking.get(message.id)?.abort();
    if (message.kind === 'close') return void close();
    if (!('id' in message)) return answers.told?.(message);
    try {
      answer(message);
    } catch (failure) {
      failed(message.id, failure);
    }
  });
}
