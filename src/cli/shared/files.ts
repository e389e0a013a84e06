import { readFileSync, statSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { parseEnv } from 'node:util';
import { messageOf } from '../../errors.ts';
import { isUrl } from '../../host/postgres-url.ts';
import { oneLine } from '../../printable.ts';
import { CommandError, EXIT, tell, usageError, type ExitCode } from './output.ts';

export async function readInput(path: string): Promise<Buffer> {
  if (path === '-') return buffer(process.stdin);
  requireFile(path);
  try {
    return readFileSync(path);
  } catch (failure) {
    throw new CommandError(`hookbox cannot read ${oneLine(path)}: ${messageOf(failure)}`, EXIT.notFound);
  }
}

/** A broken pipe looks like an empty body. */
export function noteWhenEmpty(body: Uint8Array): void {
  if (body.byteLength === 0) tell('note: the body is empty (0 bytes).');
}

/**
 * @param what - names the file in an error
 * @param unreadable - the exit code if the file exists but cannot be read
 */
export function readText(path: string, what: string, unreadable: ExitCode = EXIT.notFound): string {
  requireFile(path);
  try {
    return readFileSync(path, 'utf8');
  } catch (failure) {
    const isMissing = (failure as NodeJS.ErrnoException).code === 'ENOENT';
    throw new CommandError(
      `hookbox cannot read ${what}: ${messageOf(failure)}.`,
      isMissing ? EXIT.notFound : unreadable,
    );
  }
}

export function requireFile(path: string): void {
  refuseUrl(path);
  if (isFolder(path)) throw usageError(`${oneLine(path)} is a folder. Pass the path of a file.`);
}

/** The message does not quote the URL, which may contain a password. */
export function refuseUrl(path: string): void {
  if (isUrl(path)) throw usageError('Pass the path of a file, not a URL.');
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

const ENV_FILE = '--env-file';

/**
 * Reads the files of `--env-file`, anywhere in the arguments, before the options read variables. As with Node's option,
 * variables that are already set keep their values, and the last file wins.
 *
 * @returns the arguments without the option
 */
export function withEnvFiles(args: readonly string[]): readonly string[] {
  const rest: string[] = [];
  const paths: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '--') {
      rest.push(...args.slice(at));
      break;
    }
    if (arg === ENV_FILE) paths.push(args[(at += 1)] ?? '');
    else if (arg.startsWith(`${ENV_FILE}=`)) paths.push(arg.slice(ENV_FILE.length + 1));
    else rest.push(arg);
  }
  for (const path of paths.toReversed()) {
    if (path === '') throw usageError(`${ENV_FILE} needs the path of a file.`);
    // Windows marks a file as UTF-8.
    const text = readText(path, `the file of ${ENV_FILE}`).replace(/^\ufeff/, '');
    for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value;
  }
  return rest;
}
