import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
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
    .optionsGroup(GROUP.output)
    .option('-n, --lines <n>', 'how many of the last events to print', wholeNumber(0, 10_000), 10)
    .option('-f, --follow', 'keep printing new and changed events until Ctrl-C');
  return withNotes(withInbox(withFilter(tail), 'print one JSON line for each event or change'), {
    notes: ['Every half second it reads new events, and changes of the last few hundred.'],
  }).action(async (options: TailOptions) => {
    const { tail } = await import('./tail.ts');
    process.exitCode = await tail(options);
  });
}
