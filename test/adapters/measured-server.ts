import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const hello = z.object({ url: z.string() });
const sample = z.object({ rss: z.number() });

/** A server in a process of its own, which says how much memory is resident whenever it is asked. */
export interface MeasuredServer extends AsyncDisposable {
  readonly url: string;
  rss(): Promise<number>;
}

/** Starts a module that sends `{ url }` when it listens, and `{ rss }` for every message. */
export async function startMeasured(module: URL): Promise<MeasuredServer> {
  const child = fork(fileURLToPath(module), { execArgv: [] });
  const exited = once(child, 'exit');
  const message = async (): Promise<unknown> => {
    const gone = exited.then(() => Promise.reject(new Error('the server process has ended')));
    const [received]: unknown[] = await Promise.race([once(child, 'message'), gone]);
    return received;
  };
  const { url } = hello.parse(await message());
  return {
    url,
    async rss() {
      const answered = message();
      child.send('rss');
      return sample.parse(await answered).rss;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}
