import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withWide } from '../shared/wide-option.ts';
import { withInbox } from './event-options.ts';
import type { FindOptions } from './find.ts';

/** `hookbox events find` */
export function findCommand(): Command {
  const find = command('find', 'find events by an id, the start of an id, or an error; list failed events first', [
    'hookbox events find ord_42',
    'hookbox events find evt_3pqt',
    'hookbox events find "connect ECONNREFUSED"',
  ])
    .argument(
      '<text>',
      'the id of an event, order, cart, product or merchant; the first characters of such an id; or part of ' +
        'an error, ignoring case',
    )
    .optionsGroup(GROUP.output)
    .option('--limit <n>', 'list at most this many events', wholeNumber(1), 50)
    .option('--all', 'list all events that match');
  return withNotes(withInbox(withWide(find), 'print one line of JSON per event'), {
    notes: ['This does not search bodies. To find a value in a body, use "hookbox events list --body".'],
    exitCodes: { 0: 'at least one event matched', 4: 'no event matched' },
  }).action(async (text: string, options: FindOptions) => {
    const { find } = await import('./find.ts');
    process.exitCode = await find(text, options);
  });
}
