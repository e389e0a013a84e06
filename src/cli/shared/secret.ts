import type { Command } from 'commander';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { oneLine } from '../../printable.ts';
import { readText } from './files.ts';
import { CommandError, EXIT, tell, usageError } from './output.ts';

export interface SecretOptions {
  readonly secretFile?: string;
}

/** Every user of the machine could see a secret in an argument. */
export function withSecret(
  command: Command,
  description = 'read the signing secret from this file instead of SIGNING_SECRET or a prompt',
): Command {
  return command.option('--secret-file <path>', description);
}

export async function secretOf(options: SecretOptions): Promise<string> {
  const given = givenSecret(options);
  if (given !== null) return given;
  if (hasTerminal()) return prompted('Signing secret: ', process.stdin, process.stderr);
  throw usageError('The signing secret is missing. Set SIGNING_SECRET or pass --secret-file.');
}

export function givenSecret({ secretFile }: SecretOptions): string | null {
  return secretFile === undefined ? process.env['SIGNING_SECRET'] || null : secretFromFile(secretFile);
}

/** Without the newline that editors append. */
export function secretFromFile(path: string, what = 'secret'): string {
  const secret = readText(path, `the ${what}`, EXIT.usage).replace(/\r?\n$/, '');
  if (secret === '') throw usageError(`${path} is empty. Write the ${what} into it.`);
  if (secret.trim() !== secret)
    tell(`note: the ${what} in ${path} begins or ends with white space. hookbox uses it as part of the ${what}.`);
  return secret;
}

export async function prompted(
  question: string,
  input: NodeJS.ReadableStream,
  shown: NodeJS.WritableStream,
): Promise<string> {
  shown.write(question);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input, output, terminal: true });
  const secret = await answered(terminal, '', shown, 'Interrupted before a secret was entered.');
  if (secret === null) throw usageError('The secret is empty. Type the signing secret.');
  shown.write('\n');
  return secret;
}

export function requireConsent(yes: boolean): void {
  if (yes || hasTerminal()) return;
  throw usageError('Confirmation needs a terminal. Add --yes to confirm, or --dry-run for a preview.');
}

/**
 * Asks for a count, which is hard to type by mistake.
 *
 * @param signal - cancels the prompt
 */
export async function typedCount(
  count: number,
  todo: string,
  signal: AbortSignal,
  input: NodeJS.ReadableStream = process.stdin,
  output: NodeJS.WritableStream = process.stderr,
): Promise<boolean> {
  const terminal = createInterface({ input, output, terminal: true, signal });
  const question = `Type ${count} to ${oneLine(todo)}, or anything else to cancel: `;
  const typed = await answered(terminal, question, output, 'Interrupted. Nothing changed.');
  if (typed === null) output.write('\n');
  return typed?.trim().replaceAll(',', '') === String(count);
}

function hasTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** `null` if the input ends. Throws on Ctrl-C. */
function answered(
  terminal: Interface,
  question: string,
  shown: NodeJS.WritableStream,
  interrupted: string,
): Promise<string | null> {
  return new Promise((resolve, reject) => {
    terminal.once('SIGINT', () => {
      shown.write('\n');
      reject(new CommandError(interrupted, EXIT.interrupted));
      terminal.close();
    });
    terminal.once('close', () => resolve(null));
    terminal.question(question, (typed) => {
      resolve(typed);
      terminal.close();
    });
  });
}
