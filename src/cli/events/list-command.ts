import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { oneFrom, wholeNumber } from '../shared/option-values.ts';
import { withWide } from '../shared/wide-option.ts';
import { withFilter, withInbox } from './event-options.ts';
import type { ListOptions } from './list.ts';

const ORDERS = ['newest', 'oldest', 'failed'] as const;

/** `hookbox events list` */
export function listCommand(): Command {
  const list = command('list', 'list stored events, the newest first unless told otherwise', [
    'hookbox events list --state dead --since 24h',
    'hookbox events list --entity ord_42',
    'hookbox events list --error "ECONNREFUSED" --type order.created --json | jq -r .id',
    'hookbox events list --body data.customer.email=ada@example.com',
    'hookbox events list --groups',
  ])
    .option('--limit <n>', 'at most this many', wholeNumber(1), 50)
    .option('--all', 'all there are')
    .option('--before <seq>', 'to go on behind the event of this number', wholeNumber(0))
    .option(
      '--order <order>',
      `${ORDERS.join(', ')}; failed lists dead events, the one that died last first`,
      oneFrom(ORDERS),
      'newest',
    )
    .option('--groups', 'dead events, grouped by their errors; with --retrying those that are tried again');
  return withInbox(withWide(withFilter(list)), 'print an event a line, as JSON')
    .addHelpText('after', '\nAn event has to fit all given filters, and one of several types, states or reasons.')
    .action(async (options: ListOptions) => {
      const { list } = await import('./list.ts');
      process.exitCode = await list(options);
    });
}
