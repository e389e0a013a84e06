import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { resolvingFrom } from '../against.ts';

const titles = z.array(z.string());
const milliseconds = z.number();

/** A shop's file that a process of its own has open, and what it can be asked. */
export interface AskedFile extends AsyncDisposable {
  readonly titles: readonly string[];
  /** Asks the question at this place of {@link titles}; how long the answer took, in milliseconds. */
  timeOf(question: number): Promise<number>;
}

/** Opens a file with the library of this checkout, or of another. */
export async function openAskedFile(file: string, checkout?: string): Promise<AskedFile> {
  const child = fork(fileURLToPath(new URL('asking-process.ts', import.meta.url)), [file], {
    execArgv: resolvingFrom(checkout).flatMap((preload) => ['--import', preload]),
  });
  const exited = once(child, 'exit');
  const answer = async (): Promise<unknown> => {
    const answered = await Promise.race([once(child, 'message'), exited.then(() => null)]);
    if (answered === null) throw new Error(`The process that was asked about ${file} ended.`);
    return answered[0];
  };
  const known = titles.parse(await answer());
  return {
    titles: known,
    async timeOf(question) {
      const answered = answer();
      child.send(question);
      return milliseconds.parse(await answered);
    },
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await exited;
    },
  };
}
