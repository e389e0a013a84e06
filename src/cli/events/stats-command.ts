import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { wholeNumber } from '../shared/option-values.ts';
import { withInbox } from './event-options.ts';
import type { StatsCommandOptions } from './stats.ts';

/** `hookbox events stats` */
export function statsCommand(): Command {
  const made = command('stats', 'show event counts, the oldest pending event, latencies and rates', [
    'hookbox events stats',
    'hookbox events stats --since 7d --steps 7',
    'hookbox events stats --json | jq .now.oldestPending',
  ])
    .optionsGroup(GROUP.output)
    .option('--since <time>', 'count from this time on: an age (2h) or an ISO date (UTC)', '24h')
    .option('--until <time>', 'count until this time (default: now)')
    .option('--steps <n>', 'divide the period into this many steps', wholeNumber(1, 1_000), 24);
  return withNotes(withInbox(made), {
    notes: [
      'Latencies are upper bounds. In JSON, a latency is a number of milliseconds, null if nothing was measured, or "inf" if it exceeds a minute.',
    ],
  }).action(async (options: StatsCommandOptions) => {
    const { printStats } = await import('./stats.ts');
    process.exitCode = await printStats(options);
  });
}
