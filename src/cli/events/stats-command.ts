import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withInbox } from './event-options.ts';
import type { StatsCommandOptions } from './stats.ts';

/** `hookbox events stats` */
export function statsCommand(): Command {
  const made = command('stats', 'counts, the oldest pending event, latencies and rates', [
    'hookbox events stats',
    'hookbox events stats --since 7d --steps 7',
    'hookbox events stats --json | jq .now.oldestPending',
  ])
    .option('--since <time>', 'from then on: an age such as 2h, or an ISO date (UTC)', '24h')
    .option('--until <time>', 'before then; now unless given')
    .option('--steps <n>', 'divide the time into this many steps', wholeNumber(1, 1_000), 24);
  return withInbox(made)
    .addHelpText(
      'after',
      '\nLatencies are upper bounds; in JSON in milliseconds, null if nothing was measured, "inf" beyond a minute.',
    )
    .action(async (options: StatsCommandOptions) => {
      const { printStats } = await import('./stats.ts');
      process.exitCode = await printStats(options);
    });
}
