import { pathToFileURL } from 'node:url';
// Bundlers create a thread from `new Worker(new URL(…, import.meta.url))` only if Worker comes from a module of exactly
// this name.
import { Worker, type WorkerOptions } from 'worker_threads';

export interface WorkerStart {
  readonly thread: 'writer-thread' | 'operators-thread' | 'checkpoint-thread' | 'backup-thread';
  readonly task: unknown;
}

/** Where browsers find the files that webpack writes. */
// oxlint-disable-next-line eslint/no-underscore-dangle -- webpack's name for it
declare const __webpack_public_path__: unknown;

/** A CommonJS bundle may have none. */
const url = (import.meta as { readonly url?: string }).url;
const here = url ?? pathToFileURL(__filename).href;
const ending = /\.\w+$/.exec(here)?.[0] ?? '';

export function startWorker(thread: WorkerStart['thread'], task: unknown): Worker {
  const options: WorkerOptions = {
    name: `hookbox ${thread}`,
    workerData: { thread, task } satisfies WorkerStart,
    stdout: true,
    stderr: true,
    // Without the flags of the process, such as --import.
    ...(ending !== '.ts' && { execArgv: [] }),
  };
  const elsewhere = otherFile();
  const worker =
    elsewhere === null
      ? new Worker(new URL('./hookbox-thread.js', import.meta.url), options)
      : new Worker(elsewhere, options);
  // To forward a thread's output, Node would make the output of the whole process non-blocking.
  const { stdout, stderr } = worker as Partial<Pick<Worker, 'stdout' | 'stderr'>>;
  stdout?.destroy();
  stderr?.destroy();
  return worker;
}

function otherFile(): URL | string | null {
  // In Next.js, webpack gives servers the paths of browsers; Next.js traces the package, so it stays installed.
  if (typeof __webpack_public_path__ === 'string' && __webpack_public_path__.startsWith('/')) {
    const { createRequire } = process.getBuiltinModule('node:module');
    return createRequire(`${process.cwd()}/`).resolve('hookbox/sqlite/thread');
  }
  return url !== undefined && ending === '.js' ? null : new URL(`./hookbox-thread${ending}`, here);
}
