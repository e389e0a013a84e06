import { fileURLToPath } from 'node:url';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from './free-port.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const secret = 'the secret of the examples';

// Inside the package, so that its own name resolves as it will for a merchant; in dist, which git ignores.
let folder: string;
beforeAll(() => {
  if (!existsSync(join(root, 'dist'))) throw new Error('dist is missing: the examples run against it; npm run build');
  mkdirSync(join(root, 'dist/examples'), { recursive: true });
  folder = mkdtempSync(join(root, 'dist/examples/run-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function blocks(markdown: string, language: string): string[] {
  return [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

function partition<T>(all: readonly T[], belongs: (one: T) => boolean): [T[], T[]] {
  return [all.filter(belongs), all.filter((one) => !belongs(one))];
}

function run(command: string, args: string[], env: Record<string, string>): ChildProcess {
  return spawn(command, args, {
    cwd: folder,
    env: { ...process.env, SIGNING_SECRET: secret, OPS_PASSWORD: 'a long password', ...env },
  });
}

async function ended(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await once(child, 'close');
  return { code: child.exitCode, output };
}

async function runTypeScript(code: string, name: string): Promise<{ code: number | null; output: string }> {
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, code);
  return ended(run(process.execPath, [file], { HOOKBOX_DB: join(folder, `${name}.db`) }));
}

describe('README', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  const [servers, others] = partition(blocks(readme, 'ts'), (block) => /^\/\/ \S*server\.mjs/.test(block));
  const commands = blocks(readme, 'sh').find((block) => block.includes('curl')) ?? '';

  it('has a quick start of about twenty lines, and one for Express', () => {
    expect(servers[0]?.trim().split('\n').length).toBeLessThanOrEqual(22);
    expect(servers).toHaveLength(2);
  });

  it.each(servers)('has a server that takes what its curl command sends, once', async (code) => {
    const port = await freePort();
    const name = /^\/\/ (\S+)\.mjs/.exec(code)?.[1] ?? '';
    const env = { PORT: String(port), HOOKBOX_DB: join(folder, `${name}.db`) };
    writeFileSync(join(folder, `${name}.ts`), code);
    const server = run(process.execPath, [`${name}.ts`], env);
    const done = ended(server);
    try {
      await listening(port);
      const first = await ended(run('bash', ['-c', commands], env));
      expect(first.output).toBe('{"received":true,"duplicate":false,"id":"evt_1"}');
      const second = await ended(run('bash', ['-c', commands], env));
      expect(second.output).toBe('{"received":true,"duplicate":true,"id":"evt_1"}');
    } finally {
      server.kill('SIGTERM');
    }
    const { code: exitCode, output } = await done;
    expect(exitCode).toBe(0);
    expect(output).not.toMatch(/error/i);
  });

  it.each(others.map((code, index) => ({ name: `readme-${index + 2}`, code })))(
    '$name runs as it stands',
    async (block) => {
      const { code, output } = await runTypeScript(block.code, block.name);
      expect(output).not.toMatch(/error/i);
      expect(code).toBe(0);
    },
  );
});

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
