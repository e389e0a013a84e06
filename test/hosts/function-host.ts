import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SECRET } from './secret.ts';
import type { Project } from './project.ts';

export interface WebRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

export type FunctionCall = { readonly name: string } & (PlainCall | LambdaCall | { readonly web: WebRequest });

export interface PlainCall {
  readonly parameters: readonly unknown[];
}

export interface LambdaCall {
  readonly event: unknown;
  readonly remainingMs: number;
}

export type FunctionReply = { readonly value: unknown } | { readonly error: string };

export interface WebAnswer {
  readonly status: number;
  readonly text: string;
  /** Promises given to `waitUntil`; all have settled. */
  readonly waitedFor: number;
}

/** The examples reach it through their own client. */
export interface FakeQueue {
  readonly env: Readonly<Record<string, string>>;
  messages(): string[];
  setDown(down: boolean): void;
}

export interface FunctionHost extends AsyncDisposable {
  readonly queue: FakeQueue;
  call(call: FunctionCall): Promise<unknown>;
  output(): string;
}

export function fakeQueue(project: Project): FakeQueue {
  const file = join(mkdtempSync(join(project.folder, 'queue-')), 'messages');
  writeFileSync(file, '');
  return {
    env: { QUEUE_FILE: file, QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/123456789012/events', TOPIC: 'events' },
    messages: () =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => String(JSON.parse(line))),
    setDown: (down) => (down ? writeFileSync(`${file}.down`, '') : rmSync(`${file}.down`, { force: true })),
  };
}

export async function startFunction(
  project: Project,
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<FunctionHost> {
  const queue = fakeQueue(project);
  const child = fork(fileURLToPath(new URL('function-process.ts', import.meta.url)), [join(project.folder, file)], {
    execArgv: [],
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      SIGNING_SECRET: SECRET,
      ...queue.env,
      ...env,
    },
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  const note = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout?.on('data', note);
  child.stderr?.on('data', note);
  const exited = once(child, 'exit');
  const message = async (): Promise<unknown> => {
    const gone = exited.then(() => Promise.reject(new Error(`${file} has ended:\n${output}`)));
    const [received]: unknown[] = await Promise.race([once(child, 'message'), gone]);
    return received;
  };
  await message();
  return {
    queue,
    output: () => output,
    async call(call) {
      const replied = message();
      child.send(call);
      const reply = (await replied) as FunctionReply;
      if ('error' in reply) throw new Error(reply.error);
      return reply.value;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}
