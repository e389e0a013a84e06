// @module-tag long
import { fileURLToPath } from 'node:url';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCommandProcess, type RunCommand } from './cli/run-hookbox.ts';
import { freePort } from './helpers/free-port.ts';
import { PostgresServer } from './helpers/postgres-server.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const secret = 'the secret of the examples';

// Inside the package, so that its own name resolves as it will for a merchant; in dist, which git ignores.
let folder: string;
beforeAll(async () => {
  if (!existsSync(join(root, 'dist'))) throw new Error('dist is missing: the examples run against it; npm run build');
  mkdirSync(join(root, 'dist/examples'), { recursive: true });
  folder = mkdtempSync(join(root, 'dist/examples/run-'));
  postgres = await PostgresServer.start();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres[Symbol.asyncDispose]();
});

function blocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

/** Each example has a folder of its own: inboxes are named without one, as a newcomer does. */
function folderOf(name: string): string {
  const own = join(folder, name);
  mkdirSync(own, { recursive: true });
  return own;
}

function run(command: string, args: string[], cwd: string, env: Record<string, string> = {}): ChildProcess {
  return spawn(command, args, { cwd, env: { ...process.env, SIGNING_SECRET: secret, ...env } });
}

async function ended(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  return { code: child.exitCode, output };
}

let runExample: RunCommand;
let postgres: PostgresServer;

/** In one process with the other examples, since each loads the same; one that leaves something open does not end here either. */
async function runTypeScript(code: string, name: string): Promise<{ code: number; output: string }> {
  const own = folderOf(name);
  const file = join(own, 'example.ts');
  writeFileSync(file, code);
  runExample ??= await startCommandProcess(fileURLToPath(new URL('example-program.ts', import.meta.url)));
  const env = { PATH: process.env['PATH'] ?? '', SIGNING_SECRET: secret, DATABASE_URL: postgres.url() };
  const ran = await runExample({ args: [file], cwd: own, env, input: '' });
  return { code: ran.code, output: ran.stdout + ran.stderr };
}

describe('README', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const shell = (word: string): string => blocks(readme, 'sh').find((block) => block.includes(word)) ?? '';
  const port = freePort();
  let server: ChildProcess;
  let log: Promise<{ code: number | null; output: string }>;

  /** As it stands, but for the port, and for npx and node, which would have to be found in PATH. */
  const bash = async (script: string): Promise<ChildProcess> =>
    run(
      'bash',
      [
        '-c',
        script
          .replaceAll('npx hookbox', `'${process.execPath}' '${join(root, 'dist/src/cli/hookbox.js')}'`)
          .replace(/^node /m, `exec '${process.execPath}' `)
          .replaceAll('localhost:3000', `localhost:${await port}`),
      ],
      folderOf('readme'),
      // As the page exports it in both terminals.
      { SIGNING_SECRET: 'a-secret-for-development', HOOKBOX_URL: `http://localhost:${await port}/webhooks` },
    );

  beforeAll(async () => {
    const [code = ''] = blocks(readme, 'js');
    expect(code).toMatch(/^\/\/ server\.mjs\n/);
    expect(code).toContain('listen(3000');
    writeFileSync(join(folderOf('readme'), 'server.mjs'), code.replace('listen(3000', `listen(${await port}`));
    server = await bash(shell('node server.mjs'));
    log = ended(server);
    await listening(await port);
  });

  it('has at most 180 lines', () => expect(readme.split('\n').length - 1).toBeLessThanOrEqual(180));

  it('triggers an event that its server stores and handles', async () => {
    const { code, output } = await ended(await bash(shell('events list\n')));
    expect(output).toMatch(/^200 +stored +order\.created/);
    expect(code).toBe(0);
    const list = async (): Promise<string> => (await ended(await bash('npx hookbox events list'))).output;
    await expect.poll(list, { timeout: 30_000 }).toMatch(/order\.created .* processed +1/);
  });

  it.each(
    shell('--tamper')
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +#.*/, '')),
  )('%s works', async (line) => {
    expect(await ended(await bash(line))).toMatchObject({ code: 0 });
  });

  it.each(
    shell('events stats')
      .trim()
      .split('\n')
      .map((line) => line.replace(/ +#.*/, ''))
      .filter((line) => line !== 'npx hookbox ui'),
  )('%s works', async (line) => {
    const { code, output } = await ended(await bash(line));
    expect(output).not.toMatch(/unknown|error:/);
    expect([0, 4]).toContain(code); // 4: no such event
  });

  it('has a server that listens, handles, and ends as it should', async () => {
    server.kill('SIGTERM');
    const { code, output } = await log;
    expect(output).toMatch(/^listening on http:\/\/localhost:3000\/webhooks\n/);
    expect(output).toMatch(/^new order ord_\w+ 30\.05$/m);
    expect(code).toBe(0);
  });
});

describe.each(['README.md', 'docs/handling.md', 'docs/typescript.md', 'docs/operations.md', 'docs/databases.md'])(
  '%s',
  (page) => {
    const examples = blocks(readFileSync(join(root, page), 'utf8'), 'ts');

    it('has examples', () => expect(examples).not.toEqual([]));

    it.each(examples.map((code, index) => ({ name: `example ${index + 1}`, code })))(
      '$name runs as it stands',
      async ({ name, code }) => {
        const result = await runTypeScript(code, `${page}-${name}`.replaceAll(/\W/g, '-'));
        expect(result.output).not.toMatch(/error/i);
        expect(result.code).toBe(0);
      },
    );
  },
);

describe('TSDoc examples', () => {
  const examples = globSync(['src/**/*.{ts,tsx}', 'adapters/*.ts'], { cwd: root }).flatMap((file) => {
    const comments = readFileSync(join(root, file), 'utf8').match(/\/\*\*[\s\S]*?\*\//g) ?? [];
    const texts = comments.map((comment) => comment.replace(/^ *\/?\*+ ?\/?/gm, ''));
    return texts.flatMap((text) => blocks(text, 'ts')).map((code, index) => ({ name: `${file} ${index + 1}`, code }));
  });

  it('are on the public functions', () => expect(examples.length).toBeGreaterThanOrEqual(10));

  it.each(examples)('$name runs as it stands', async ({ name, code }) => {
    const throws = /^throw new/m.test(code);
    const result = await runTypeScript(code, name.replaceAll(/\W/g, '-'));
    if (throws) expect(result.output).toContain('PermanentError');
    else expect(result).toMatchObject({ code: 0 });
  });
});

async function listening(port: number): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await fetch(`http://localhost:${port}/`);
      return;
    } catch (failure) {
      if (attempt > 200) throw failure;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
