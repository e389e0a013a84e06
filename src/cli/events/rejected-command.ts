import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withWide } from '../shared/wide-option.ts';
import { withInbox } from './event-options.ts';
import type { RejectedOptions } from './rejected.ts';

/** `hookbox events rejected` */
export function rejectedCommand(): Command {
  const made = command('rejected', 'list rejected deliveries and the causes of the rejections', [
    'hookbox events rejected',
    'hookbox events rejected --json | jq -r \'select(.reason == "signature-mismatch").source\'',
  ])
    .optionsGroup(GROUP.output)
    .option('--limit <n>', 'list at most this many lines', wholeNumber(1, 1_000), 100);
  return withNotes(withInbox(withWide(made), 'print each line of the list as a line of JSON'), {
    notes: [
      'Rejections of the same kind share a line. hookbox keeps the latest thousand lines, which contain no bodies.',
    ],
  }).action(async (options: RejectedOptions) => {
    const { rejected } = await import('./rejected.ts');
    process.exitCode = await rejected(options);
  });
}
