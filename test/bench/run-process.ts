import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { resolvingFrom } from './against.ts';

/** Runs a script in a process of its own and gives what the last line of its output says in JSON. */
export async function runProcess(
  script: URL,
  args: readonly string[],
  { env = {}, checkout }: { readonly env?: NodeJS.ProcessEnv; readonly checkout?: string | undefined } = {},
): Promise<unknown> {
  const preloads = resolvingFrom(checkout).flatMap((preload) => ['--import', preload]);
  const child = spawn(process.execPath, [...preloads, fileURLToPath(script), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const output = text(child.stdout);
  const [code]: unknown[] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${fileURLToPath(script)} ended with ${String(code)}.`);
  return JSON.parse((await output).trimEnd().split('\n').at(-1) ?? '');
}
