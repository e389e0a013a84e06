import { arch, platform, release } from 'node:os';
import { messageOf } from '../../errors.ts';
import { ephemeralHost } from '../../host/ephemeral-host.ts';
import { nodeTooOld } from '../../host/node-version.ts';
import { openConnection, whyNoTemporaryFiles } from '../../inbox/sqlite/opening/better-sqlite.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

/** Whether hookbox runs on this Node. */
export function checkNode(version: string = process.versions.node): Finding {
  const tooOld = nodeTooOld(version);
  if (tooOld === null) return ok('node', `Node ${version}`);
  return problem('node', tooOld, 'Install a newer Node; its current LTS line is best.');
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
      'Remove node_modules and install again, on this machine and with this Node.',
    );
  }
}

/** Whether a connection of the merchant's may have its temporary data in files; hookbox's own have it in memory. */
export function checkTemporaryFiles(): Finding {
  const why = whyNoTemporaryFiles();
  if (why === null) return ok('temporary files', 'SQLite can make them');
  return warning(
    'temporary files',
    `SQLite can make none: ${why}`,
    'An inbox that is given as a path needs none. On a connection of yours, { database }, run PRAGMA temp_store = MEMORY, or ' +
      'set SQLITE_TMPDIR to a folder with room that can be written to.',
  );
}

/** Whether this is a host whose disk does not last. */
export function checkHost(variables?: Readonly<Record<string, string | undefined>>): Finding {
  const host = ephemeralHost(variables);
  if (host === null) return ok('host', 'no host whose disk is known not to last');
  return problem(
    'host',
    `${host.name}: ${host.fate}`,
    'Keep the inbox in Postgres there (hookbox/postgres), or verify with webhookVerifier and hand events to a queue that ' +
      'lasts, or run the receiver on a machine with a disk.',
  );
}
