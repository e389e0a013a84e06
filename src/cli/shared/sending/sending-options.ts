import { Option, type Command } from 'commander';
import { GROUP } from '../command.ts';
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
      .optionsGroup(GROUP.delivery)
      .addOption(new Option('--to <url>', 'deliver to this address').env('HOOKBOX_URL').default(usualTarget()))
      .option('--concurrency <n>', 'how many deliveries to send at the same time', wholeNumber(1, 1_000), 1)
      .option('--unsigned', 'send no X-Signature, as for an account without a secret')
      .option('--allow-remote', 'allow deliveries to other machines'),
  );
  return withHeader(sending).optionsGroup(GROUP.output).option('--json', 'print one line of JSON per delivery');
}
