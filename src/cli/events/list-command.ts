import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { oneFrom, wholeNumber } from '../shared/option-values.ts';
import { withWide } from '../shared/wide-option.ts';
import { withFilter, withInbox } from './event-options.ts';
import type { ListOptions } from './list.ts';

const ORDERS = ['newest', 'oldest', 'failed'] as const;

/** `hookbox events list` */
export function listCommand(): Command {
  const list = command('list', 'list stored events, newest first', [
    'hookbox events list --state dead --since 24h',
    'hookbox events list --entity ord_42',
    'hookbox events list --error "ECONNREFUSED" --type order.created --json | jq -r .id',
    'hookbox events list --body data.customer.email=ada@example.com',
    'hookbox events list --groups',
  ])
    .optionsGroup(GROUP.output)
    .option('--limit <n>', 'list at most this many events', wholeNumber(1), 50)
    .option('--all', 'list all events that match')
    .option(
      '--order <order>',
      'newest, oldest or failed; failed lists dead events, beginning with the event that became dead last',
      oneFrom(ORDERS),
      'newest',
    )
    .option('--groups', 'group dead events by error; with --retrying, group the events that are waiting for a retry')
    .option(
      '--before <seq>',
      'list entries with a number lower than this; for the next page, pass the last number shown',
      wholeNumber(0),
    );
  return withNotes(withInbox(withWide(withFilter(list)), 'print one line of JSON per event'), {
    notes: [
      'An event must match every filter. If you repeat --type, --state or --dead-reason, the event must match one of the values.',
    ],
  }).action(async (options: ListOptions) => {
    const { list } = await import('./list.ts');
    process.exitCode = await list(options);
  });
}
