import { arch, platform, release } from 'node:os';
import { messageOf } from '../../errors.ts';
import { ephemeralHost } from '../../host/ephemeral-host.ts';
import { nodeTooOld } from '../../host/node-version.ts';
import { ok, problem, type Finding } from './finding.ts';

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
export async function checkSqlite(): Promise<Finding> {
  try {
    const { default: Database } = await import('better-sqlite3');
    const database = new Database(':memory:');
    const version = String(database.prepare('SELECT sqlite_version()').pluck().get());
    database.close();
    return ok('better-sqlite3', `loads, with SQLite ${version}`);
  } catch (failure) {
    return problem(
      'better-sqlite3',
      `does not load: ${messageOf(failure)}`,
      'Remove node_modules and install again, on this machine and with this Node; a copied node_modules does not work.',
    );
  }
}

/** Whether this is a host whose disk does not last. */
export function checkHost(variables?: Readonly<Record<string, string | undefined>>): Finding {
  const host = ephemeralHost(variables);
  if (host === null) return ok('host', 'no host whose disk is known not to last');
  return problem(
    'host',
    `${host.name}: ${host.fate}`,
    'Keep events in Postgres (hookbox/postgres), or verify there with webhookVerifier and hand them to a queue that lasts, or run the receiver on a machine with a disk.',
  );
}
