import { pathToFileURL } from 'node:url';

/** Runs the example in a file as `node` would, but for its process; see cli/command-process.ts. */
export async function run([file = '']: readonly string[]): Promise<void> {
  try {
    await import(pathToFileURL(file).href);
  } catch (failure) {
    console.error(failure);
    process.exitCode = 1;
  }
}
