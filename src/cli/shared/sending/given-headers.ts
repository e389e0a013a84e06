import { readFileSync } from 'node:fs';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { messageOf } from '../../../errors.ts';
import { CommandError, EXIT, usageError } from '../exit.ts';
import { requireFile } from '../read-input.ts';

/** They say where the body ends, which its bytes decide. */
const OF_THE_BODY: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);

/**
 * The headers that `--header` gives: `Name: value`, or `@` and a file that has one a line, as curl takes them.
 *
 * @throws CommandError that quotes no value, as it may be a password
 */
export function givenHeaders(given: readonly string[] = []): Readonly<Record<string, string>> {
  const lines = given.flatMap((each) => (each.startsWith('@') ? linesOf(each.slice(1)) : [each]));
  return Object.fromEntries(lines.map(headerOf));
}

function headerOf(line: string): readonly [name: string, value: string] {
  const [, name = '', value = ''] = /^([^:]+):(.*)$/.exec(line) ?? [];
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value.trim());
  } catch {
    throw usageError("--header must be 'Name: value', or @ followed by a file with one header per line.");
  }
  if (OF_THE_BODY.has(name.toLowerCase()))
    throw usageError(`--header cannot set ${name}: hookbox sets it from the body.`);
  return [name, value.trim()];
}

function linesOf(path: string): readonly string[] {
  requireFile(path);
  try {
    return readFileSync(path, 'utf8')
      .split(/\r?\n/)
      .filter((line) => line.trim() !== '');
  } catch (failure) {
    throw new CommandError(`hookbox cannot read the file of --header: ${messageOf(failure)}.`, EXIT.notFound);
  }
}
