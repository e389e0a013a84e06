import { turn } from '../../host/real-timers.ts';
import { plural } from '../../ops/words/format.ts';
import { isInPostgres, type DbOptions } from '../shared/options.ts';
import { EXIT, print, printJson, styled, tell, type ExitCode } from '../shared/output.ts';
import { interruption } from '../shared/interruption.ts';
import {
  checkClock,
  checkHost,
  checkNode,
  checkPlatform,
  checkPort,
  checkSecret,
  type Finding,
} from './machine-checks.ts';
import { checkDatabase, checkFolder, checkSqlite, checkTemporaryFiles } from './sqlite-checks.ts';

interface DoctorOptions extends DbOptions {
  readonly port: number;
  readonly secretFile?: string;
  readonly json?: boolean;
}

/** A signal ends it between two checks. */
export async function doctor(options: DoctorOptions): Promise<ExitCode | void> {
  const { db, port, secretFile, json } = options;
  const signal = interruption();
  const findings = [checkNode(), checkPlatform()];
  const files = [process.execPath, import.meta.filename];
  if (isInPostgres(options)) {
    const { checkPostgres } = await import('./postgres-checks.ts');
    findings.push(...(await checkPostgres(options)));
  } else {
    findings.push(...(await checkFile(db, signal)));
    files.unshift(db);
  }
  if (signal.aborted) return;
  findings.push(checkSecret(secretFile), await checkClock(files), await checkPort(port));
  if (signal.aborted) return;
  const count = (status: Finding['status']): number => findings.filter((finding) => finding.status === status).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  const healthy = problems === 0;
  if (json === true) printJson({ healthy, checks: findings });
  else {
    const width = Math.max(...findings.map(({ check }) => check.length));
    for (const { check, status, what, advice } of findings) {
      const label = styled(STYLES[status], status.padEnd(STATUS_WIDTH));
      print(`${label}  ${check.padEnd(width)}  ${what}`);
      if (advice !== null) print(`${' '.repeat(STATUS_WIDTH + width + 4)}To do: ${advice}`);
    }
    const summary = `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`;
    tell(problems + warnings === 0 ? 'No problems found.' : summary);
  }
  if (!healthy) return EXIT.failed;
}

const STYLES = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const STATUS_WIDTH = 'problem'.length;

async function checkFile(db: string, signal: AbortSignal): Promise<readonly Finding[]> {
  const sqlite = checkSqlite();
  if (sqlite.status !== 'ok') return [sqlite, checkHost()];
  const folder = checkFolder(db);
  await turn(); // a signal arrives only here
  return [sqlite, checkTemporaryFiles(), checkHost(), ...folder, ...(signal.aborted ? [] : checkDatabase(db))];
}
