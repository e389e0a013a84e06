import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import type { ListOptions } from './list.ts';
import { withFilter, withInbox } from './event-options.ts';
import type { ShowOptions } from './show.ts';
import type { TailOptions } from './tail.ts';
import { collected, wholeNumber } from '../shared/option-values.ts';

/** `hookbox events list` */
export function listCommand(): Command {
  const list = command('list', 'list stored events, the newest first', [
    'hookbox events list --state dead --since 24h',
    'hookbox events list --entity ord_42',
    'hookbox events list --error "ECONNREFUSED" --type order.created --json | jq -r .id',
    'hookbox events list --payload data.customer.email=ada@example.com',
    'hookbox events list --groups',
  ])
    .option('--limit <n>', 'at most this many', wholeNumber(1), 50)
    .option('--all', 'all there are')
    .option('--before <seq>', 'stored before the event of this number, to go on', wholeNumber(0))
    .option('--groups', 'dead events, grouped by their errors');
  return withInbox(withFilter(list), 'print an event a line, as JSON')
    .addHelpText('after', '\nAn event has to fit all given filters, and one of several types, states or reasons.')
    .action(async (options: ListOptions) => {
      const { list } = await import('./list.ts');
      process.exitCode = await list(options);
    });
}

/** `hookbox events show` */
export function showCommand(): Command {
  const show = command('show', 'show deliveries, attempts, errors and payload of an event', [
    'hookbox events show evt_3PqT8mXkRz4VwYb2',
    'hookbox events show evt_3PqT8mXkRz4VwYb2 --mask data.customer.email --mask data.items[].name',
    'hookbox events show evt_3PqT8mXkRz4VwYb2 --raw | sha256sum',
    "hookbox events show evt_3PqT8mXkRz4VwYb2 --json | jq '.timeline[].attempt.error.stack'",
  ])
    .argument('<event-id>', 'the id of the event')
    .option('--endpoint <name>', 'the endpoint that received it; needed if several have this id')
    .option('--mask <path>', 'hide a field of the payload; may be repeated', collected)
    .option('--raw', 'print only the stored bytes');
  return withInbox(show)
    .addHelpText(
      'after',
      '\nNumbers, escapes and the order of fields are as they were sent. --mask does not change the text of errors.',
    )
    .action(async (id: string, options: ShowOptions) => {
      const { show } = await import('./show.ts');
      process.exitCode = await show(id, options);
    });
}

/** `hookbox events tail` */
export function tailCommand(): Command {
  const tail = command('tail', 'print the last events, and follow new ones', [
    'hookbox events tail -f',
    'hookbox events tail -n 50 --type order.created',
    'hookbox events tail -f --state dead --json | jq .lastError',
  ])
    .option('-n, --lines <n>', 'how many of the last events', wholeNumber(0, 10_000), 10)
    .option('-f, --follow', 'go on as events arrive and change, until Ctrl-C');
  return withInbox(withFilter(tail), 'print an event or a change a line, as JSON')
    .addHelpText('after', '\nIt looks every half second for new events, and for changes of the last few hundred.')
    .action(async (options: TailOptions) => {
      const { tail } = await import('./tail.ts');
      process.exitCode = await tail(options);
    });
}
