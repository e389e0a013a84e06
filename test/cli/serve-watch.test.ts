// @module-tag long
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { deliver } from '../../src/sender/deliver.ts';
import { fixture } from '../../src/testing/fixtures.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { runHookbox, SECRET } from './run-hookbox.ts';
import { running, type Running } from './serving.ts';

/** Where it receives once it has started so many times. */
async function urlAt(start: number, { stderr }: Running): Promise<string> {
  const announced = (): readonly string[] => stderr.filter((line) => line.includes('hookbox receives deliveries at'));
  await vi.waitFor(() => expect(announced(), stderr.join('\n')).toHaveLength(start), { timeout: 20_000 });
  return /http:\S+/.exec(announced().at(-1) ?? '')?.[0] ?? '';
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('hookbox serve --watch', () => {
  it('starts again with what the handlers import, waits for what mends them, and leaves nothing behind', async () => {
    const cwd = scratchFolder();
    const words = (text: string) => writeFileSync(join(cwd, 'words.mjs'), text);
    words("export const word = 'one';");
    writeFileSync(
      join(cwd, 'it.mjs'),
      `import { word } from './words.mjs';
       export default { '*': async (event, ctx) => {
         await new Promise((resolve) => setTimeout(resolve, 300));
         console.error(word, event.id, process.pid);
       } };`,
    );
    const serve = running(['serve', '--watch', 'it.mjs', '--port', '0'], { cwd });
    const first = await urlAt(1, serve);
    await deliver(first, fixture('order.created'), { secret: SECRET });
    writeFileSync(join(cwd, 'other.mjs'), 'export {};'); // nobody imports it
    words("export const word = 'two';");
    await serve.note('words.mjs changed. Restarting.');
    // What was under way has ended, in the process that was told to stop.
    const [, , pid] = (await serve.note(/^one evt_/)).split(' ');
    await deliver(await urlAt(2, serve), fixture('cart.abandoned'), { secret: SECRET });
    await serve.note(/^two evt_/);
    expect(isAlive(Number(pid))).toBe(false);

    words('export const word = ');
    await serve.note('Waiting for a change to it.mjs');
    expect(serve.stderr.join('\n')).toContain('hookbox cannot load it.mjs');
    writeFileSync(join(cwd, 'new.mjs'), "export const word = 'three';");
    renameSync(join(cwd, 'new.mjs'), join(cwd, 'words.mjs')); // as many editors do
    await deliver(await urlAt(3, serve), fixture('order.ready'), { secret: SECRET });
    const last = Number((await serve.note(/^three evt_/)).split(' ')[2]);

    const { code, stdout, stderr } = await serve.stop('SIGTERM');
    expect(code).toBe(0);
    expect(isAlive(last)).toBe(false);
    expect(stdout.match(/200 stored/g)).toHaveLength(3);
    expect(stderr).not.toContain('other.mjs');
    expect(stderr.match(/changed\. Restarting/g)?.length).toBeGreaterThanOrEqual(3);
  });

  it('goes on when a folder was away, as while a build makes it anew or another branch is checked out', async () => {
    const cwd = scratchFolder();
    const built = (word: string): void => {
      mkdirSync(join(cwd, 'dist/lib'), { recursive: true });
      writeFileSync(join(cwd, 'dist/lib/word.mjs'), `export default '${word}';`);
      const says = "import word from './lib/word.mjs'; console.error('it says', word); export default { '*'() {} };";
      writeFileSync(join(cwd, 'dist/it.mjs'), says);
    };
    built('one');
    const serve = running(['serve', '--watch', 'dist/it.mjs', '--port', '0'], { cwd });
    await serve.note('it says one');
    await urlAt(1, serve);
    rmSync(join(cwd, 'dist'), { recursive: true });
    await serve.note('Waiting for a change to dist/it.mjs');
    built('two');
    await serve.note('it says two');
    rmSync(join(cwd, 'dist'), { recursive: true });
    built('three'); // at once
    await serve.note('it says three');
    writeFileSync(join(cwd, 'dist/lib/word.mjs'), "export default 'four';");
    await serve.note('it says four');
    renameSync(join(cwd, 'dist'), join(cwd, 'before'));
    built('five');
    await serve.note('it says five');
    writeFileSync(join(cwd, 'dist/lib/word.mjs'), "export default 'six';");
    await serve.note('it says six');
    expect(await serve.stop('SIGTERM')).toMatchObject({ code: 0 });
  });

  it.each([
    ['no handlers', [], 2, '--watch needs a handler module. Pass its path.'],
    ['handlers that are not there', ['nowhere.mjs'], 4, 'The file nowhere.mjs does not exist.'],
  ])('given %s, says so and ends', async (_, args, code, message) => {
    const ran = await runHookbox(['serve', '--watch', ...args], { cwd: scratchFolder(), refused: true });
    expect(ran).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) });
  });
});
