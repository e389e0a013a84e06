import { arch, platform, release } from 'node:os';
import { messageOf } from '../../errors.ts';
import { ephemeralHost } from '../../host/files.ts';
import { nodeTooOld } from '../../host/node-version.ts';
import { openConnection, whyNoTemporaryFiles } from '../../inbox/sqlite/opening/better-sqlite.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

/** Whether hookbox runs on this Node. */
export function checkNode(version: string = process.versions.node): Finding {
  const tooOld = nodeTooOld(version);
  if (tooOld === null) return ok('node', `Node ${version}`);
  return problem('node', tooOld, 'Install a newer Node, such as the current LTS release.');
}

/** What machine it is, for those who are shown the report. */
export function checkPlatform(): Finding {
  return ok('platform', `${platform()} ${release()}, ${arch()}`);
}

/** Whether SQLite was installed for this machine and this Node. */
export function checkSqlite(): Finding {
  try {
    const database = openConnection(':memory:');
    const { version } = database.prepare('SELECT sqlite_version() AS version').get() as { readonly version: string };
    database.close();
    return ok('better-sqlite3', `loads, with SQLite ${version}`);
  } catch (failure) {
    return problem(
      'better-sqlite3',
      messageOf(failure),
      'Remove node_modules, then install again on this machine with this version of Node.',
    );
  }
}

/** Whether a connection of the application's may have its temporary data in files; hookbox's own have it in memory. */
export function checkTemporaryFiles(): Finding {
  const why = whyNoTemporaryFiles();
  if (why === null) return ok('temporary files', 'SQLite can create temporary files');
  return warning(
    'temporary files',
    `SQLite cannot create temporary files: ${why}`,
    'An inbox that is opened by its path needs no temporary files. If you pass your own connection ({ database }), run PRAGMA temp_store = MEMORY on it, or set SQLITE_TMPDIR to a writable folder with free space.',
  );
}

/** Whether this is a host whose disk does not last. */
export function checkHost(variables?: Readonly<Record<string, string | undefined>>): Finding {
  const host = ephemeralHost(variables);
  if (host === null) return ok('host', 'no host with a temporary disk was detected');
  return problem(
    'host',
    `${host.name}: ${host.fate}`,
    'Use an inbox in Postgres (hookbox/postgres), or run the receiver on a machine with a permanent ' +
      'disk, or verify with webhookVerifier and put the events into a durable queue.',
  );
}
