import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withFilter, withInbox } from './event-options.ts';
import type { TailOptions } from './tail.ts';

/** `hookbox events tail` */
export function tailCommand(): Command {
  const tail = command('tail', 'print the latest events, and optionally new ones as they arrive', [
    'hookbox events tail -f',
    'hookbox events tail -n 50 --type order.created',
    'hookbox events tail -f --state dead --json | jq .lastError',
  ])
    .optionsGroup(GROUP.output)
    .option('-n, --lines <n>', 'begin with this many of the latest events', wholeNumber(0, 10_000), 10)
    .option('-f, --follow', 'print new and changed events until you press Ctrl-C');
  return withNotes(withInbox(withFilter(tail), 'print one line of JSON per event or change'), {
    notes: [
      'With --follow, hookbox checks every half second for new events and for changes in the few hundred most recent events.',
    ],
  }).action(async (options: TailOptions) => {
    const { tail } = await import('./tail.ts');
    process.exitCode = await tail(options);
  });
}
