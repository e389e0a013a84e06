import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from '../../helpers/free-port.ts';
import { part } from '../../helpers/parts.ts';

/** Prism between a client and a server: it says which requests and answers do not fit a document. */
export interface Prism extends AsyncDisposable {
  readonly base: string;
}

/**
 * @param file - the document
 * @param more - `--errors` has it answer itself where something does not fit, and hold back requests
 */
export async function prismBefore(upstream: string, file: string, ...more: readonly string[]): Promise<Prism> {
  const port = String(await freePort());
  const script = part('@stoplight/prism-cli/dist/index.js');
  const prism = spawn(process.execPath, [script, 'proxy', file, upstream, '-p', port, ...more], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, DO_NOT_TRACK: '1', SCARF_ANALYTICS: 'false', NO_COLOR: '1' },
  });
  const ended = once(prism, 'close');
  const lines = createInterface({ input: prism.stdout });
  const said: string[] = [];
  for await (const line of lines) {
    said.push(line);
    if (line.includes('is listening on')) break;
  }
  if (!said.some((line) => line.includes('is listening on'))) throw new Error(`prism ended: ${said.join('\n')}`);
  // Nobody reads its log, and it must not wait for that.
  prism.stdout.resume();
  return {
    base: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      prism.kill('SIGKILL');
      await ended;
    },
  };
}
