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
