// @module-tag dear
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { fixture } from '../../src/testing/fixtures.ts';
import { deliver } from '../../src/sender/deliver.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { SECRET } from './run-hookbox.ts';

const script = fileURLToPath(new URL('../../examples/demo/start.mjs', import.meta.url));

function start(env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [script], { cwd: scratchFolder(), env: { SIGNING_SECRET: SECRET, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (printed.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (printed.stderr += chunk.toString()));
  return { child, printed, closed: once(child, 'close') };
}

/** Where it receives, once it does. */
async function urlOf({ printed }: ReturnType<typeof start>): Promise<string> {
  await vi.waitFor(() => expect(printed.stderr).toContain('stores them in'), { timeout: 20_000 });
  return /http:\/\/localhost:\d+\/webhooks/.exec(printed.stderr)?.[0] ?? '';
}

describe('npm start', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'receives with what the environment says, and ends with 0 on %s',
    async (signal) => {
      const started = start({ PORT: '0', HOOKBOX_DB: 'shop.db' });
      const { child, printed, closed } = started;
      const url = await urlOf(started);
      expect(printed.stderr).toContain(`hookbox receives deliveries at ${url} and stores them in shop.db`);
      expect(await deliver(url, fixture('order.created'), { secret: SECRET })).toMatchObject({ status: 200 });
      child.kill(signal);
      await closed;
      expect(child.exitCode).toBe(0);
      expect(printed.stdout).toMatch(/^\S+Z 200 stored order\.created evt_3PqT8mXkRz4VwYb2 \d+\.\d ms\n$/);
    },
  );

  it('says in one line why it cannot start', async () => {
    const { port } = new URL(await urlOf(start({ PORT: '0' })));
    for (const [env, message] of [
      [{ PORT: port }, `hookbox cannot start: Port ${port} is in use. Choose a different PORT.\n`],
      [{ PORT: 'http' }, 'hookbox cannot start: PORT must be a number from 0 to 65535, not "http".\n'],
      [{ PORT: '0', SIGNING_SECRET: '' }, 'secret'],
    ] as const) {
      const { child, printed, closed } = start(env);
      await closed;
      expect(child.exitCode).toBe(1);
      expect(printed.stderr).toContain(message);
    }
  });
});
