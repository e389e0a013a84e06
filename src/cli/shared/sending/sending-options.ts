import { Option, type Command } from 'commander';
import { withHeader } from '../header-option.ts';
import { wholeNumber } from '../option-values.ts';
import { usualTarget } from '../port-option.ts';
import { withSecret, type SecretOptions } from '../secret-option.ts';

/** What commands that deliver have in common. */
export interface SendingOptions extends SecretOptions {
  readonly to: string;
  readonly concurrency: number;
  readonly header?: readonly string[];
  readonly unsigned?: boolean;
  readonly allowRemote?: boolean;
  readonly json?: boolean;
}

/** Adds the options that commands that deliver have in common. */
export function withSending(command: Command): Command {
  const sending = withSecret(
    command
      .addOption(new Option('--to <url>', 'where to deliver').env('HOOKBOX_URL').default(usualTarget()))
      .option('--concurrency <n>', 'deliveries at a time', wholeNumber(1, 1_000), 1)
      .option('--unsigned', 'send no X-Signature (an account without a signing secret)')
      .option('--allow-remote', 'deliver to other machines, too')
      .option('--json', 'print a delivery a line, as JSON'),
  );
  return withHeader(sending);
}
