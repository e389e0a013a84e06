import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const hello = z.object({ url: z.string() });
const sample = z.object({
  rss: z.number(),
  /** Of bodies that came one byte at a time. */
  chunksOfOneByte: z.number(),
  largerChunks: z.number(),
});

export type Sample = z.infer<typeof sample>;

export interface MeasuredServer extends AsyncDisposable {
  readonly url: string;
  rss(): Promise<number>;
  sample(): Promise<Sample>;
}

export async function startMeasured(module: URL): Promise<MeasuredServer> {
  const child = fork(fileURLToPath(module), { execArgv: [] });
  const exited = once(child, 'exit');
  const message = async (): Promise<unknown> => {
    const gone = exited.then(() => Promise.reject(new Error('the server process has ended')));
    const [received]: unknown[] = await Promise.race([once(child, 'message'), gone]);
    return received;
  };
  const { url } = hello.parse(await message());
  const take = async (): Promise<Sample> => {
    const answered = message();
    child.send('sample');
    return sample.parse(await answered);
  };
  return {
    url,
    rss: async () => (await take()).rss,
    sample: take,
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}
