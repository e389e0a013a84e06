// @module-tag long
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from './helpers/free-port.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const tutorial = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');

function blocks(language: string): string[] {
  return [...tutorial.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

it('the tutorial goes as it says: a table, a duplicate, a failure, a rerun, a kill', async () => {
  if (!existsSync(join(root, 'dist'))) throw new Error('dist is missing: npm run build');
  mkdirSync(join(root, 'dist/examples'), { recursive: true });
  const cwd = mkdtempSync(join(root, 'dist/examples/tutorial-'));
  const port = await freePort();
  const here = (script: string): string =>
    script
      .replaceAll('npx hookbox', `'${process.execPath}' '${join(root, 'dist/src/cli/hookbox.js')}'`)
      .replaceAll(/^node /gm, `exec '${process.execPath}' `);
  const env = { ...process.env, HOOKBOX_URL: `http://localhost:${port}/webhooks`, NODE_COMPILE_CACHE: '' };
  const bash = (script: string): ChildProcess => spawn('bash', ['-ec', here(script)], { cwd, env });
  let shop: ChildProcess | undefined;
  onTestFinished(() => {
    shop?.kill('SIGKILL');
    rmSync(cwd, { recursive: true, force: true });
  });

  const [code = ''] = blocks('js');
  writeFileSync(join(cwd, 'shop.mjs'), code.replace('listen(3000', `listen(${port}`));
  let printed = '';
  function start(script: string): ChildProcess {
    printed = '';
    const child = bash(`export SIGNING_SECRET=a-secret-for-development\n${script}`);
    child.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    return child;
  }
  const shopPrints = (text: RegExp): Promise<void> => expect.poll(() => printed, { timeout: 40_000 }).toMatch(text);
  async function run(script: string): Promise<string> {
    const child = bash(`export SIGNING_SECRET=a-secret-for-development HOOKBOX_DB=shop.db\n${script}`);
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await once(child, 'close');
    expect(child.exitCode, output).toBe(0);
    return output;
  }
  const shows = (command: string, text: RegExp): Promise<void> =>
    expect.poll(() => run(command), { timeout: 40_000 }).toMatch(text);

  const [
    ,
    starting = '',
    first = '',
    again = '',
    down = '',
    groups = '',
    rerun = '',
    slow = '',
    kill = '',
    restart = '',
  ] = blocks('sh');
  shop = start(starting);
  await shopPrints(/listening/);
  expect(await run(first)).toMatch(/200 +stored +order\.created/);
  await shopPrints(/order ord_\w+ attempt 1\n/);
  await shows('npx hookbox events show evt_first', /processed/);
  expect(await run(again)).toMatch(/200 +duplicate/);

  expect(await run(down)).toMatch(/200 +stored +order\.ready/);
  await shows('npx hookbox events list --state dead --json || true', /evt_mail/);
  expect(await run(groups)).toContain('the mail server does not answer');

  await run(rerun);
  await shopPrints(/mail sent for ord_\w+\n/);
  await shows('npx hookbox events show evt_mail', /mail is back/);

  expect(await run(slow)).toMatch(/200 +stored +order\.created/);
  await shopPrints(/(?:attempt 1\n[\s\S]*){2}/);
  const killed = shop;
  expect(kill).toContain('kill -9');
  killed.kill('SIGKILL');
  await once(killed, 'close');
  shop = start(restart);
  await shopPrints(/order ord_\w+ attempt 2\n/);
  await shows('npx hookbox events show evt_killed', /processed/);
  const shown = await run('npx hookbox events show evt_killed');
  expect(shown).toContain('crashed');
  const query = "new (require('better-sqlite3'))('shop.db').prepare('SELECT count(*) AS n FROM orders').get().n";
  expect(await run(`'${process.execPath}' -p "${query}"`)).toBe('2\n');
}, 120_000);
