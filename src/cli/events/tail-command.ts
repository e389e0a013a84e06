import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withFilter, withInbox } from './event-options.ts';
import type { TailOptions } from './tail.ts';

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
