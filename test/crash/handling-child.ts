import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { bundledScript } from '../helpers/bundled-script.ts';

let handling: Promise<string> | undefined;

export interface HandlingEnd {
  readonly signal: NodeJS.Signals | null;
  readonly running: readonly string[];
}

export interface HandlingChild {
  handled(handlers: number): Promise<unknown>;
  readonly ended: Promise<HandlingEnd>;
  kill(): void;
}

export async function startHandling(
  file: string,
  behaviour: 'effects' | 'steps' | 'exit' | 'kill',
  placement = 'thread',
): Promise<HandlingChild> {
  const script = await (handling ??= bundledScript(new URL('handling-process.ts', import.meta.url)));
  const child = spawn(process.execPath, [script, file, behaviour, placement], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const closed = once(child, 'close');
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const handled = async (handlers: number): Promise<void> => {
    const isEnough = (): boolean => output !== '' && output.split('\nend ').length > handlers;
    while (!isEnough()) await once(child.stdout, 'data');
  };
  const ended = closed.then((): HandlingEnd => {
    const running = new Set<string>();
    for (const line of output.split('\n')) {
      const [word, id = ''] = line.split(' ');
      if (word === 'begin') running.add(id);
      if (word === 'end') running.delete(id);
    }
    return { signal: child.signalCode, running: [...running] };
  });
  return {
    handled: (handlers) => Promise.race([handled(handlers), closed]),
    ended,
    kill: () => void child.kill('SIGKILL'),
  };
}
