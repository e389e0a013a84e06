import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, vi } from 'vitest';
import { startHookbox, type Ran, type RunOptions } from './run-hookbox.ts';

export interface Running {
  readonly child: ChildProcess;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  line(has: string | RegExp): Promise<string>;
  note(has: string | RegExp): Promise<string>;
  stop(signal: NodeJS.Signals): Promise<Ran>;
  ended(): Promise<Ran>;
}

/** Starts a command; whatever becomes of the test, it does not outlive it. */
export function running(args: readonly string[], options: RunOptions = {}): Running {
  const child = startHookbox(args, options);
  const closed = once(child, 'close');
  const stdout = linesOf(child.stdout);
  const stderr = linesOf(child.stderr);
  onTestFinished(() => void child.kill('SIGKILL'));

  async function ended(): Promise<Ran> {
    await closed;
    return { code: child.exitCode, stdout: stdout.join('\n'), stderr: stderr.join('\n') };
  }

  return {
    child,
    stdout,
    stderr,
    line: (has) => lineWith(stdout, has),
    note: (has) => lineWith(stderr, has),
    stop(signal) {
      child.kill(signal);
      return ended();
    },
    ended,
  };
}

export async function serving(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Running & { readonly url: string }> {
  const serve = running(['serve', '--port', '0', ...args], options);
  const announced = await serve.note('hookbox receives deliveries at');
  return { ...serve, url: /http:\S+/.exec(announced)?.[0] ?? '' };
}

async function lineWith(lines: readonly string[], has: string | RegExp): Promise<string> {
  const find = (): string | undefined =>
    lines.find((line) => (typeof has === 'string' ? line.includes(has) : has.test(line)));
  await vi.waitFor(() => expect(find(), `${String(has)} in ${lines.join('\n')}`).toBeDefined(), { timeout: 20_000 });
  return find() ?? '';
}

function linesOf(stream: NodeJS.ReadableStream | null): readonly string[] {
  const lines: string[] = [];
  if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  return lines;
}
