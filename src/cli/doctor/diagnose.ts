import { turn } from '../../host/real-timers.ts';
import { plural } from '../../ops/words/format.ts';
import { isInPostgres, type DbOptions } from '../shared/options.ts';
import { print, printJson, styled, tell } from '../shared/output.ts';
import {
  checkClock,
  type Finding,
  checkPort,
  checkHost,
  checkNode,
  checkPlatform,
  checkSqlite,
  checkTemporaryFiles,
  checkSecret,
} from './machine-checks.ts';
import { checkDatabase, checkFolder } from './sqlite-checks.ts';

/** Which receiver is meant, and how to print. */
export interface DoctorOptions extends DbOptions {
  readonly port: number;
  readonly secretFile?: string;
  readonly json?: boolean;
}

/**
 * Runs every check, prints what it finds, and tells whether there is no problem.
 *
 * @param signal - ends it between two checks, when what was written is removed again
 */
export async function doctor(options: DoctorOptions, signal: AbortSignal): Promise<boolean> {
  const { db, port, secretFile, json } = options;
  const findings = [checkNode(), checkPlatform()];
  const files = [process.execPath, import.meta.filename];
  if (isInPostgres(options)) {
    const { checkPostgres } = await import('./postgres-check.ts');
    findings.push(...(await checkPostgres(options)));
  } else {
    findings.push(...(await checkFile(db, signal)));
    files.unshift(db);
  }
  if (signal.aborted) return false;
  findings.push(checkSecret(secretFile), await checkClock(files), await checkPort(port));
  if (signal.aborted) return false;
  const healthy = findings.every(({ status }) => status !== 'problem');
  if (json === true) {
    printJson({ healthy, checks: findings });
    return healthy;
  }
  const width = Math.max(...findings.map(({ check }) => check.length));
  for (const finding of findings) print(findingLines(finding, width));
  tell(summary(findings));
  return healthy;
}

/** An inbox in a file, and what SQLite needs. */
async function checkFile(db: string, signal: AbortSignal): Promise<readonly Finding[]> {
  const sqlite = checkSqlite();
  if (sqlite.status !== 'ok') return [sqlite, checkHost()];
  const folder = checkFolder(db);
  await turn(); // Ctrl-C is heard only here
  return [sqlite, checkTemporaryFiles(), checkHost(), ...folder, ...(signal.aborted ? [] : checkDatabase(db))];
}

const STYLES = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const STATUS_WIDTH = 'problem'.length;

function findingLines({ check, status, what, advice }: Finding, width: number): readonly string[] {
  const label = styled(STYLES[status], status.padEnd(STATUS_WIDTH));
  const indent = ' '.repeat(STATUS_WIDTH + width + 4);
  return [`${label}  ${check.padEnd(width)}  ${what}`, ...(advice === null ? [] : [`${indent}To do: ${advice}`])];
}

function summary(findings: readonly Finding[]): string {
  const count = (status: Finding['status']): number => findings.filter((finding) => finding.status === status).length;
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems + warnings === 0) return 'No problems found.';
  return `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`;
}
