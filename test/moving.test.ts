import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { createReceiver } from '../src/index.ts';
import { buildEvent, deliverTo } from '../src/testing/index.ts';
import { sqliteInbox } from './helpers/inbox-on-loop.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(join(root, 'docs/moving.md'), 'utf8');
const secret = 'a secret for tests';
const run = promisify(execFile);

let cwd: string;
beforeEach(() => {
  if (!existsSync(join(root, 'dist'))) throw new Error('dist is missing: npm run build');
  mkdirSync(join(root, 'dist/examples'), { recursive: true });
  cwd = mkdtempSync(join(root, 'dist/examples/moving-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
});

/** The only block of a language. */
function block(language: string): string {
  const [first = '', ...more] = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
  expect(more).toEqual([]);
  return first;
}

/** Delivers events of these ids to a receiver on the file; answers the bodies, and the ids that a handler got. */
async function deliver(file: string, ids: readonly string[]) {
  const inbox = sqliteInbox(join(cwd, file));
  const ran: string[] = [];
  const receiver = createReceiver({ secret, inbox, handlers: { '*': ({ id }) => void ran.push(id) } });
  const answers: unknown[] = [];
  for (const id of ids) {
    const answer = await deliverTo(receiver, buildEvent('order.created', { id }), { secret });
    answers.push([answer.status, answer.body]);
  }
  await receiver.start();
  await expect.poll(() => ran.length).toBeGreaterThan(0);
  await receiver.close();
  await inbox.close();
  return { answers, ran };
}

it('the commands of docs/moving.md: an id of the old code is a duplicate and never runs, another one does', async () => {
  const script = block('sh').replace('npx hookbox', `'${process.execPath}' '${join(root, 'dist/src/cli/hookbox.js')}'`);
  const old = `psql() { echo evt_old; }\n`;
  const { stderr } = await run('bash', ['-ec', old + script], {
    cwd,
    env: { PATH: process.env['PATH'], NO_COLOR: '1' },
  });
  expect(stderr).toContain('1 id recorded as processed; 0 already recorded\n');
  expect(await deliver('hookbox.db', ['evt_old', 'evt_new'])).toEqual({
    answers: [
      [200, { received: true, duplicate: true, id: 'evt_old' }],
      [200, { received: true, duplicate: false, id: 'evt_new' }],
    ],
    ran: ['evt_new'],
  });
});

it('the code of docs/moving.md does the same', async () => {
  writeFileSync(join(cwd, 'import.mjs'), block('ts'));
  const ended = spawnSync(process.execPath, ['import.mjs'], { cwd, encoding: 'utf8' });
  expect(ended).toMatchObject({ status: 0, stdout: '2 []\n' });
  const { ran } = await deliver('shop.db', ['evt_1', 'evt_2', 'evt_3']);
  expect(ran).toEqual(['evt_3']);
});

it('the way back: the ids that hookbox has processed come out of it, imported ones too', async () => {
  await deliver('hookbox.db', ['evt_1']);
  const [, line = ''] = /`npx hookbox (events export [^`]+)`/.exec(page) ?? [];
  const { stdout } = await run(
    process.execPath,
    [join(root, 'dist/src/cli/hookbox.js'), ...line.split(' '), '--db', 'hookbox.db'],
    { cwd },
  );
  expect(stdout).toContain('evt_1');
});
