import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { messageOf } from '../../errors.ts';
import { CommandError, EXIT, usageError } from './exit.ts';
import { requireFile } from './read-input.ts';

const ENV_FILE = '--env-file';

/**
 * Reads the files of `--env-file`, wherever it stands, before the options ask for variables. As with Node's own option, what is
 * set already stays, and of several files the last one counts.
 *
 * @returns the arguments without it
 * @throws CommandError for a file that cannot be read
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
    for (const [name, value] of Object.entries(variablesIn(path))) process.env[name] ??= value;
  }
  return rest;
}

function variablesIn(path: string): NodeJS.Dict<string> {
  if (path === '') throw usageError(`${ENV_FILE} needs the path of a file.`);
  requireFile(path);
  try {
    // Windows marks a file as UTF-8, which would become a part of the first name.
    return parseEnv(readFileSync(path, 'utf8').replace(/^\ufeff/, ''));
  } catch (failure) {
    throw new CommandError(`hookbox cannot read the file of ${ENV_FILE}: ${messageOf(failure)}.`, EXIT.notFound);
  }
}
