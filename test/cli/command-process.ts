/** Runs one command after the other, each as if this process were its own: what they load is loaded once. Forked by run-hookbox.ts. */
import { Console } from 'node:console';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

export interface CommandRequest {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly input: string | Uint8Array;
}

export interface CommandEnd {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const [program = ''] = process.argv.slice(2);
const { run } = (await import(pathToFileURL(program).href)) as { run: (args: readonly string[]) => Promise<void> };

process.on('disconnect', () => process.exit());
process.on('message', (request: CommandRequest) => void ranHere(request).then((ran) => process.send?.(ran)));
process.send?.('ready');

async function ranHere({ args, cwd, env, input }: CommandRequest): Promise<CommandEnd> {
  const open = openNow();
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  const stdout = written('stdout');
  const stderr = written('stderr');
  globalThis.console = new Console(process); // the one before writes to where it wrote first
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    value: Readable.from(input.length === 0 ? [] : [Buffer.from(input)], { objectMode: false }),
  });
  const exit = process.exit.bind(process);
  process.exit = ((code?: number) => void (process.exitCode = code ?? process.exitCode)) as typeof process.exit;
  await run(args);
  process.exit = exit;
  // A process ends once nothing is open any more, and not before.
  while (openNow() > open) await sleep(2, undefined, { ref: false });
  const code = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
  return { code, stdout: stdout(), stderr: stderr() };
}

function openNow(): number {
  return process.getActiveResourcesInfo().length;
}

/** Puts another stream in the place of one; answers what tells the text that was written to it. */
function written(name: 'stdout' | 'stderr'): () => string {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  Object.defineProperty(process, name, { configurable: true, value: stream });
  return () => Buffer.concat(chunks).toString();
}
