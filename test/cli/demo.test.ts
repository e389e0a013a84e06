// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratchFolder } from '../helpers/scratch-folder.ts';

const script = fileURLToPath(new URL('../../examples/demo/demo.mjs', import.meta.url));

function demo(...args: readonly string[]) {
  const folder = scratchFolder();
  chmodSync(folder, 0o755); // a Postgres of root's runs as somebody else
  const child = spawn(process.execPath, [script, ...args], { env: { ...process.env, TMPDIR: folder } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ran = { child, output: '', folder, closed: once(child, 'close') };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (ran.output += String(chunk)));
  return ran;
}

function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
  }).then((is) => {
    socket.destroy();
    return is === true;
  });
}

const portOf = ({ output }: { readonly output: string }): number => Number(/Postgres on port (\d+)/.exec(output)?.[1]);

describe('npm run demo', () => {
  it.each([[[]], [['--postgres']]])('keeps its promises with %j, and leaves nothing behind', async (args) => {
    const ran = demo(...args);
    expect(await ran.closed, ran.output).toEqual([0, null]);
    expect(ran.output).toContain('Everything is as promised.');
    expect(readdirSync(ran.folder)).toEqual([]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends its Postgres on %s and removes its folder', async (signal) => {
    const ran = demo('--postgres');
    await expect.poll(() => portOf(ran), { interval: 5 }).toBeGreaterThan(0);
    const port = portOf(ran);
    expect(await isListening(port)).toBe(true);
    ran.child.kill(signal);
    expect(await ran.closed, ran.output).toEqual([signal === 'SIGINT' ? 130 : 143, null]);
    expect(await isListening(port)).toBe(false);
    expect(readdirSync(ran.folder)).toEqual([]);
  });

  it('ends what makes its Postgres, too', async () => {
    const ran = demo('--postgres');
    const made = (): readonly string[] => readdirSync(ran.folder, { recursive: true, encoding: 'utf8' });
    await expect.poll(() => made().some((path) => path.endsWith('/data')), { interval: 1 }).toBe(true);
    ran.child.kill('SIGINT');
    expect(await ran.closed, ran.output).toEqual([130, null]);
    expect(made()).toEqual([]);
  });

  it('says what it takes', async () => {
    const ran = demo('--mysql');
    expect(await ran.closed).toEqual([1, null]);
    expect(ran.output).toContain('--postgres');
  });
});
