import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withWide } from '../shared/wide-option.ts';
import { withInbox } from './event-options.ts';
import type { FindOptions } from './find.ts';

/** `hookbox events find` */
export function findCommand(): Command {
  const find = command('find', 'find events by whatever you have at hand, those that have failed first', [
    'hookbox events find ord_42',
    'hookbox events find evt_3pqt',
    'hookbox events find "connect ECONNREFUSED"',
  ])
    .argument(
      '<text>',
      'an id of an event, order, cart, product or merchant, the beginning of one in any case, or a piece of an error',
    )
    .option('--limit <n>', 'at most this many', wholeNumber(1), 50)
    .option('--all', 'all there are');
  return withInbox(withWide(find), 'print an event a line, as JSON')
    .addHelpText(
      'after',
      '\nBodies are not searched: hookbox events list --body finds values in them. Exits with 4 when nothing is found.',
    )
    .action(async (text: string, options: FindOptions) => {
      const { find } = await import('./find.ts');
      process.exitCode = await find(text, options);
    });
}
