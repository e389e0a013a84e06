import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withWide } from '../shared/wide-option.ts';
import { withInbox } from './event-options.ts';
import type { FindOptions } from './find.ts';

/** `hookbox events find` */
export function findCommand(): Command {
  const find = command('find', 'find events by an id, the start of an id, or an error; failed ones first', [
    'hookbox events find ord_42',
    'hookbox events find evt_3pqt',
    'hookbox events find "connect ECONNREFUSED"',
  ])
    .argument(
      '<text>',
      'the id of an event, order, cart, product or merchant, or its beginning, in upper or lower case; or part of an error',
    )
    .optionsGroup(GROUP.output)
    .option('--limit <n>', 'list at most this many', wholeNumber(1), 50)
    .option('--all', 'list all');
  return withNotes(withInbox(withWide(find), 'print one JSON line for each event'), {
    notes: ['This does not search bodies. hookbox events list --body finds a value in them.'],
    exitCodes: { 0: 'events were found', 4: 'no event was found' },
  }).action(async (text: string, options: FindOptions) => {
    const { find } = await import('./find.ts');
    process.exitCode = await find(text, options);
  });
}
