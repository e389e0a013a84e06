import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import express from 'express';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { pageHandler } from '../adapters/express.ts';
import { opsPage } from '../src/page/operators-page.tsx';
import { limitsOf } from '../src/processing/limits.ts';
import { sqliteInbox } from './helpers/inbox-on-loop.ts';
import { scratchFile, scratchFolder } from './helpers/scratch-folder.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const shop = readFileSync(join(root, 'examples/shop-express/server.mjs'), 'utf8');
const blocks = [...page.matchAll(/^```(?<language>\w+)\n(?<code>[\s\S]*?)^```$/gm)].map(
  ({ groups: { language = '', code = '' } = {} }) => ({ language, code }),
);
const block = (language: string, at = 0): string => blocks.filter((one) => one.language === language)[at]?.code ?? '';

const dockerfile = block('dockerfile').split('\n');
const instruction = (name: string): string[] =>
  dockerfile.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
const compose: unknown = parse(block('yaml'));
const [deployment] = parseAllDocuments(block('yaml', 1)).map((document): unknown => document.toJS());
const unit = Object.fromEntries(
  block('ini')
    .split('\n')
    .filter((line) => line.includes('='))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
);

/** What stands under these names in a parsed file. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  );
}

const container = (...path: readonly (string | number)[]): unknown =>
  at(deployment, 'spec', 'template', 'spec', 'containers', 0, ...path);

/** A shop's server with the page at `/ops`, whose port comes back. */
async function serving(): Promise<{ port: number; breakInbox: () => Promise<void> }> {
  const inbox = sqliteInbox(scratchFile());
  const app = express();
  app.use(
    '/ops',
    pageHandler(opsPage({ inbox }, { basic: [{ user: 'ada', password: 'a password', role: 'operator' }] })),
  );
  const server = createServer(app).listen(0);
  onTestFinished(async () => {
    server.close();
    await inbox.close();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('it has no port');
  return { port: address.port, breakInbox: () => inbox.close() };
}

describe('docs/deploy.md', () => {
  it('has blocks of known languages only, so that each is tested here', () => {
    expect(blocks.map(({ language }) => language)).toEqual(['dockerfile', 'sh', 'yaml', 'ini', 'yaml', 'sh']);
  });

  it('its server is that of the Express shop: page at /ops, port and file from the environment', () => {
    expect(shop).toContain("app.use('/ops', pageHandler(page))");
    expect(shop).toContain("process.env.HOOKBOX_DB ?? 'shop.db'");
    expect(shop).toContain('process.env.PORT ?? 3000');
  });

  it('the image starts node itself, as a user that may write to the volume', () => {
    const [command = ''] = instruction('CMD');
    expect(JSON.parse(command)).toEqual(['node', 'server.mjs']);
    expect(existsSync(join(root, 'examples/shop-express/server.mjs'))).toBe(true);
    expect(instruction('USER')).toEqual(['node']);
    const [folder] = instruction('VOLUME');
    expect(instruction('RUN').at(-1)).toBe(`mkdir ${folder} && chown node:node ${folder}`);
    expect(instruction('ENV')[0]).toContain(`HOOKBOX_DB=${folder}/`);
    expect(instruction('ENV')[0]).toContain(`PORT=${instruction('EXPOSE')[0]} `);
    expect(block('sh')).toContain(`:${folder} `);
  });

  it('the image copies what npm ci needs, and its Node is new enough', () => {
    const major = Number(/^node:(\d+)-slim$/.exec(instruction('FROM')[0] ?? '')?.[1]);
    const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { engines: { node: string } };
    expect(major).toBeGreaterThanOrEqual(Number(/\d+/.exec(engines.node)?.[0]));
    const folder = scratchFolder();
    const [files = ''] = instruction('COPY');
    for (const file of files.split(' ').slice(0, -1)) {
      const content = file === 'package.json' ? { name: 'shop' } : { name: 'shop', lockfileVersion: 3, packages: {} };
      writeFileSync(join(folder, file), JSON.stringify(content));
    }
    const [install = ''] = instruction('RUN');
    const [program = '', ...args] = install.split(' ');
    const ran = spawnSync(program, [...args, '--offline', '--no-audit'], { cwd: folder, encoding: 'utf8' });
    expect(ran.stderr).toBe('');
    expect(ran.status).toBe(0);
  });

  it('the health check of the image passes while the server answers, also when the inbox cannot store: a restart would not help', async () => {
    const [check = ''] = instruction('HEALTHCHECK');
    const [program = '', ...args] = JSON.parse(check.slice(check.indexOf('['))) as string[];
    expect(program).toBe('node');
    const run = async (port: number): Promise<number | string | null | undefined> => {
      const env = { ...process.env, PORT: String(port) };
      const ended = promisify(execFile)(process.execPath, args, { env }).then(() => 0);
      return ended.catch((failure: { code?: number | string | null }) => failure.code);
    };
    const { port, breakInbox } = await serving();
    expect(await run(port)).toBe(0);
    await breakInbox();
    // An answer stands for a second.
    const ready = async () => (await fetch(`http://127.0.0.1:${port}/ops/health/ready`)).status;
    await expect.poll(ready, { timeout: 10_000 }).toBe(503);
    expect(await run(port)).toBe(0);
    expect(await run(1)).toBe(1);
  });

  it('the probes ask paths that need no sign-in, at the port of the server', async () => {
    const { port } = await serving();
    for (const probe of ['livenessProbe', 'readinessProbe']) {
      expect(container(probe, 'httpGet', 'port')).toBe(container('ports', 0, 'containerPort'));
      const path = String(container(probe, 'httpGet', 'path'));
      expect((await fetch(`http://127.0.0.1:${port}${path}`)).status).toBe(200);
    }
    expect(container('readinessProbe', 'httpGet', 'path')).toBe('/ops/health/ready');
    expect(String(container('ports', 0, 'containerPort'))).toBe(instruction('EXPOSE')[0]);
  });

  it('one pod at a time opens the file, whose folder is mounted and not the file', () => {
    expect(at(deployment, 'spec', 'replicas')).toBe(1);
    expect(at(deployment, 'spec', 'strategy', 'type')).toBe('Recreate');
    expect(container('volumeMounts')).toEqual([{ name: 'data', mountPath: instruction('VOLUME')[0] }]);
    expect(at(deployment, 'spec', 'selector', 'matchLabels')).toEqual(
      at(deployment, 'spec', 'template', 'metadata', 'labels'),
    );
    expect(at(deployment, 'spec', 'template', 'spec', 'volumes', 0, 'name')).toBe(container('volumeMounts', 0, 'name'));
  });

  it('each platform waits a second longer than close() may take', () => {
    const { closeMs } = limitsOf({ handlers: {}, inbox: {} });
    const seconds = [
      at(deployment, 'spec', 'template', 'spec', 'terminationGracePeriodSeconds'),
      String(at(compose, 'services', 'shop', 'stop_grace_period')).replace(/s$/, ''),
      unit['TimeoutStopSec'],
    ].map(Number);
    for (const limit of seconds) expect(limit * 1_000).toBeGreaterThanOrEqual(closeMs + 1_000);
    expect(page).toContain(`(handling.md#timeouts-crashes-closing) (${closeMs / 1_000} s)`);
  });

  it('Compose migrates once Postgres answers, and starts the shop after it, on the same inbox', () => {
    expect(at(compose, 'services', 'shop', 'depends_on')).toEqual({
      migrate: { condition: 'service_completed_successfully' },
    });
    expect(at(compose, 'services', 'migrate', 'depends_on')).toEqual({ db: { condition: 'service_healthy' } });
    expect(at(compose, 'services', 'migrate', 'command')).toEqual(['npx', 'hookbox', 'migrate']);
    const environment = at(compose, 'services', 'shop', 'environment');
    expect(environment).toEqual(at(compose, 'services', 'migrate', 'environment'));
    expect(at(environment, 'HOOKBOX_DB')).toBe('postgres://shop:${POSTGRES_PASSWORD}@db/shop');
    expect(Object.keys(at(compose, 'volumes') as object)).toEqual(['db-data']);
  });

  it('the unit starts node itself, and keeps the file in its state directory', () => {
    expect(unit['Environment']).toContain(`HOOKBOX_DB=/var/lib/${unit['StateDirectory']}/`);
    expect(unit['Environment']).toContain('PORT=3000');
    expect(unit['ExecStart']).toMatch(/^\/\S+\/node server\.mjs$/);
    expect(unit['WorkingDirectory']).toMatch(/^\//);
    // A unit with a misspelt name starts without that setting.
    const names =
      'After Description DynamicUser Environment EnvironmentFile ExecStart Restart StateDirectory TimeoutStopSec ' +
      'WantedBy Wants WorkingDirectory';
    expect(Object.keys(unit).toSorted()).toEqual(names.split(' '));
  });
});
