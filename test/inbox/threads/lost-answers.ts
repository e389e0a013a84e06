import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { onTestFinished } from 'vitest';
import type { MoveName } from '../../../src/inbox/queue-moves.ts';
import { unpackMoves, type PackedMoves } from '../../../src/inbox/sqlite/threads/messages.ts';

const workerThreads = createRequire(import.meta.url)('node:worker_threads') as { Worker: typeof Worker };

type Message = { readonly kind: string; readonly id?: number } & Partial<PackedMoves>;

/** Writers that die between a commit and its answer. */
export interface LostAnswers {
  readonly lost: readonly MoveName[];
  /** The next group with a move of this name is committed, and the thread dies before it answers. */
  loseNext(name: MoveName): void;
}

function namesIn({ moves, bodies }: Message): readonly MoveName[] {
  return moves === undefined || bodies === undefined ? [] : unpackMoves({ moves, bodies }).map(({ name }) => name);
}

export function lostAnswers(): LostAnswers {
  const lost: MoveName[] = [];
  let next: MoveName | null = null;
  const { Worker: Original } = workerThreads;
  workerThreads.Worker = class extends Original {
    constructor(entry: URL | string, options?: WorkerOptions) {
      super(entry, options);
      let dropped: number | undefined;
      const post = this.postMessage.bind(this);
      this.postMessage = (message: Message, transfer) => {
        if (next !== null && namesIn(message).includes(next)) {
          dropped = message.id;
          lost.push(next);
          next = null;
        }
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
        post(message, transfer as []);
      };
      const on = this.on.bind(this) as (event: string, listener: (message: Message) => void) => this;
      this.on = ((event: string, listener: (message: Message) => void) =>
        on(event, (message) => {
          if (event !== 'message' || message.id === undefined || message.id !== dropped) return listener(message);
          void this.terminate();
        })) as typeof this.on;
    }
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    workerThreads.Worker = Original;
    syncBuiltinESMExports();
  });
  return { lost, loseNext: (name) => (next = name) };
}
