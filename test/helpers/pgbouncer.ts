import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chownSync, cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { isThere } from './postgres-server.ts';
import { ownFolder } from './scratch-folder.ts';

/** As test/parts/pgbouncer.sh leaves it. */
const DEBIAN = fileURLToPath(new URL('../parts/node_modules/.debian', import.meta.url));
/** It refuses to run as root; whoever runs tests as root lends it another id. */
const OWNER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const START_MS = 10_000;

interface Program {
  readonly path: string;
  readonly libraries: string;
  readonly version: readonly [major: number, minor: number];
}

/** PgBouncer in transaction mode: each transaction has whichever connection of the server is free. */
export class PgBouncer implements AsyncDisposable {
  readonly #folder: Disposable & { readonly path: string };
  readonly #process: ChildProcess;
  readonly url: string;

  private constructor(folder: Disposable & { readonly path: string }, started: ChildProcess, url: string) {
    this.#folder = folder;
    this.#process = started;
    this.url = url;
  }

  /** Such as `1.18`. */
  static version(): string {
    return program().version.join('.');
  }

  /** Whether it can tell the server of statements that a client has prepared on another of its connections: since 1.21. */
  static canPrepare(): boolean {
    const [major, minor] = program().version;
    return major > 1 || minor >= 21;
  }

  /** @param server - the URL of the server behind it */
  static async start(server: string, settings: readonly string[] = []): Promise<PgBouncer> {
    const { hostname, port, username, pathname } = new URL(server);
    const own = await freePort();
    const folder = ownFolder();
    const { path, libraries } = copied(folder.path);
    const log = join(folder.path, 'pgbouncer.log');
    const given = [
      '[databases]',
      `* = host=${hostname} port=${port} user=${username}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${own}`,
      'unix_socket_dir =',
      'auth_type = any',
      `admin_users = ${username}`,
      'pool_mode = transaction',
      // Fewer than the connections to it, so that these have to share.
      'default_pool_size = 4',
      'max_client_conn = 500',
      `logfile = ${log}`,
      ...settings,
    ];
    const file = join(folder.path, 'pgbouncer.ini');
    writeFileSync(file, given.join('\n'));
    if (OWNER.uid !== undefined) chownSync(folder.path, OWNER.uid, OWNER.gid);
    const started = spawn(path, ['--quiet', file], {
      ...OWNER,
      cwd: folder.path,
      env: environment(libraries),
      stdio: 'ignore',
    });
    const bouncer = new PgBouncer(folder, started, `postgres://${username}@127.0.0.1:${own}${pathname}`);
    for (const until = performance.now() + START_MS; !(await isThere(bouncer.url)); await delay(20)) {
      if (started.exitCode === null && performance.now() < until) continue;
      throw new Error(`PgBouncer did not start: ${readFileSync(log, 'utf8').slice(-2_000)}`);
    }
    return bouncer;
  }

  /** How many transactions it has passed on. */
  async transactions(): Promise<number> {
    const client = new Client({ connectionString: this.url.replace(/[^/]*$/, 'pgbouncer') });
    await client.connect();
    const { rows } = await client.query<{ total_xact_count: string }>('SHOW STATS');
    await client.end();
    return rows.reduce((sum, { total_xact_count: count }) => sum + Number(count), 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      const ended = once(this.#process, 'exit');
      this.#process.kill('SIGKILL');
      await ended;
    }
    this.#folder[Symbol.dispose]();
  }
}

/** One that is on the PATH, or the one that test/parts has. */
function program(): Program {
  const [libraries = ''] = globSync(`${DEBIAN}/usr/lib/*-linux-gnu*`);
  for (const path of ['pgbouncer', `${DEBIAN}/usr/sbin/pgbouncer`]) {
    const { stdout } = spawnSync(path, ['--version'], { env: environment(libraries), encoding: 'utf8' });
    const [, major, minor] = /PgBouncer (\d+)\.(\d+)/i.exec(stdout ?? '') ?? []; // null where there is no such program
    if (major !== undefined) return { path, libraries, version: [Number(major), Number(minor)] };
  }
  throw new Error(
    'PgBouncer is not installed. On Debian and Ubuntu, run: npm run test:parts. Elsewhere install the program `pgbouncer` ' +
      '(brew install pgbouncer).',
  );
}

function environment(libraries: string): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`, LD_LIBRARY_PATH: libraries };
}

/** Where the other id can read it. */
function copied(folder: string): Program {
  const found = program();
  if (OWNER.uid === undefined || !found.path.startsWith(DEBIAN)) return found;
  cpSync(found.path, join(folder, 'pgbouncer'));
  cpSync(found.libraries, join(folder, 'lib'), { recursive: true, verbatimSymlinks: true });
  return { ...found, path: join(folder, 'pgbouncer'), libraries: join(folder, 'lib') };
}
