import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withWide } from '../shared/wide-option.ts';
import { withInbox } from './event-options.ts';
import type { RejectedOptions } from './rejected.ts';

/** `hookbox events rejected` */
export function rejectedCommand(): Command {
  const made = command('rejected', 'list refused deliveries, and why', [
    'hookbox events rejected',
    'hookbox events rejected --json | jq -r \'select(.reason == "signature-mismatch").source\'',
  ]).option('--limit <n>', 'at most this many', wholeNumber(1, 1_000), 100);
  return withInbox(withWide(made), 'print a kind a line, as JSON')
    .addHelpText('after', '\nEqual ones share a line. The latest thousand kinds are kept, without their bodies.')
    .action(async (options: RejectedOptions) => {
      const { rejected } = await import('./rejected.ts');
      process.exitCode = await rejected(options);
    });
}
