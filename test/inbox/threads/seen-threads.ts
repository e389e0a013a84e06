import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { onTestFinished } from 'vitest';

const workerThreads = createRequire(import.meta.url)('node:worker_threads') as { Worker: typeof Worker };

interface Sent {
  readonly kind: string;
  readonly bytes: number;
}

export interface SeenThread {
  readonly worker: Worker;
  readonly entry: string;
  readonly sent: readonly Sent[];
  readonly heard: readonly { readonly kind: string }[];
}

/** @param entryOf - the file that a thread of that name starts from */
export function seenThreads(
  entryOf: (entry: string, thread: string) => URL | string = (entry) => entry,
): readonly SeenThread[] {
  const seen: SeenThread[] = [];
  const { Worker: Original } = workerThreads;
  workerThreads.Worker = class extends Original {
    constructor(entry: URL | string, options?: WorkerOptions) {
      const thread = String(options?.name).replace('hookbox ', '');
      super(new URL(entryOf(String(entry), thread)), options);
      const sent: Sent[] = [];
      const heard: { readonly kind: string }[] = [];
      seen.push({ worker: this, entry: thread, sent, heard });
      const post = this.postMessage.bind(this);
      this.postMessage = (message: { readonly kind: string; readonly bodies?: ArrayBuffer }, transfer) => {
        sent.push({ kind: message.kind, bytes: message.bodies?.byteLength ?? 0 });
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
        post(message, transfer as []);
      };
      this.on('message', (message: { readonly kind: string }) => heard.push(message));
    }
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    workerThreads.Worker = Original;
    syncBuiltinESMExports();
  });
  return seen;
}
