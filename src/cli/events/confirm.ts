import { createInterface } from 'node:readline';
import { oneLine } from '../../printable.ts';
import { CommandError, EXIT, usageError } from '../shared/exit.ts';

/**
 * Before anything is looked for: whether there will be a terminal to ask at.
 *
 * @throws CommandError where there is none, and `--yes` was not given
 */
export function requireConsent(yes: boolean): void {
  if (yes || (process.stdin.isTTY && process.stderr.isTTY)) return;
  throw usageError('There is no terminal to ask at. Add --yes to do it, or see with --dry-run what it would do.');
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
      reject(new CommandError('Interrupted: nothing was done.', EXIT.interrupted));
      terminal.close();
    });
    terminal.once('close', () => {
      if (!isAnswered) shown.write('\n');
      resolve(false);
    });
    terminal.question(`Type ${count} to ${oneLine(todo)}, anything else to leave it: `, (typed) => {
      isAnswered = true;
      resolve(typed.trim().replaceAll(',', '') === String(count));
      terminal.close();
    });
  });
}
