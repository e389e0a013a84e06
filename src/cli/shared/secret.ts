import type { Command } from 'commander';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { messageOf } from '../../errors.ts';
import { oneLine } from '../../printable.ts';
import { requireFile } from './files.ts';
import { CommandError, EXIT, usageError, tell } from './output.ts';

/** Where the user says the secret is. */
export interface SecretOptions {
  readonly secretFile?: string;
}

/** Secrets come from the environment, a file or a prompt: an argument would be seen by every user of the machine. */
export function withSecret(
  command: Command,
  description = 'read the signing secret from this file instead of SIGNING_SECRET or a prompt',
): Command {
  return command.option('--secret-file <path>', description);
}

/**
 * The signing secret that a command was given.
 *
 * @throws CommandError when there is none
 */
export async function secretOf(options: SecretOptions): Promise<string> {
  const given = givenSecret(options);
  if (given !== null) return given;
  if (process.stdin.isTTY && process.stderr.isTTY) return prompted('Signing secret: ', process.stdin, process.stderr);
  throw usageError('The signing secret is missing. Set SIGNING_SECRET or pass --secret-file.');
}

/**
 * The signing secret of a file or of the environment; `null` where there is none, and nobody is asked.
 *
 * @throws CommandError for a file that cannot be read
 */
export function givenSecret({ secretFile }: SecretOptions): string | null {
  if (secretFile !== undefined) return secretFromFile(secretFile);
  return process.env['SIGNING_SECRET'] || null;
}

/**
 * What stands in a file, without the newline that editors end it with.
 *
 * @throws CommandError for a file that cannot be read, or is empty
 */
export function secretFromFile(path: string, what = 'secret'): string {
  requireFile(path);
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (failure) {
    const exitCode = (failure as NodeJS.ErrnoException).code === 'ENOENT' ? EXIT.notFound : EXIT.usage;
    throw new CommandError(`hookbox cannot read the ${what}: ${messageOf(failure)}.`, exitCode);
  }
  const secret = text.replace(/\r?\n$/, '');
  if (secret === '') throw usageError(`${path} is empty. Write the ${what} into it.`);
  if (secret.trim() !== secret)
    tell(`note: the ${what} in ${path} begins or ends with white space. hookbox uses it as part of the ${what}.`);
  return secret;
}

/**
 * Asks for a secret, without showing what is typed.
 *
 * @throws CommandError on Ctrl-C, and when nothing is typed
 */
export function prompted(
  question: string,
  input: NodeJS.ReadableStream,
  shown: NodeJS.WritableStream,
): Promise<string> {
  shown.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input, output: nowhere, terminal: true });
  return new Promise((resolve, reject) => {
    terminal.once('SIGINT', () => {
      shown.write('\n');
      reject(new CommandError('Interrupted before a secret was entered.', EXIT.interrupted));
      terminal.close();
    });
    terminal.once('close', () => reject(usageError('The secret is empty. Type the signing secret.')));
    terminal.question('', (secret) => {
      shown.write('\n');
      resolve(secret);
      terminal.close();
    });
  });
}

/**
 * Before anything is looked for: whether there will be a terminal to ask at.
 *
 * @throws CommandError where there is none, and `--yes` was not given
 */
export function requireConsent(yes: boolean): void {
  if (yes || (process.stdin.isTTY && process.stderr.isTTY)) return;
  throw usageError('Confirmation needs a terminal. Add --yes to confirm, or --dry-run for a preview.');
}

/**
 * Has the count typed, which cannot happen by mistake.
 *
 * @param signal - takes the question back, as if it was answered with no
 * @throws CommandError on Ctrl-C
 */
export function typedCount(
  count: number,
  todo: string,
  signal: AbortSignal,
  input: NodeJS.ReadableStream = process.stdin,
  shown: NodeJS.WritableStream = process.stderr,
): Promise<boolean> {
  const terminal = createInterface({ input, output: shown, terminal: true, signal });
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    terminal.once('SIGINT', () => {
      reject(new CommandError('Interrupted. Nothing changed.', EXIT.interrupted));
      terminal.close();
    });
    terminal.once('close', () => {
      if (!isAnswered) shown.write('\n');
      resolve(false);
    });
    terminal.question(`Type ${count} to ${oneLine(todo)}, or anything else to cancel: `, (typed) => {
      isAnswered = true;
      resolve(typed.trim().replaceAll(',', '') === String(count));
      terminal.close();
    });
  });
}
