import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import type { NewestOptions } from './print-bulks.ts';
import { withInbox } from './event-options.ts';
import type { RejectedOptions } from './rejected.ts';
import type { StatsCommandOptions } from './stats.ts';
import { wholeNumber } from '../shared/option-values.ts';

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

/** `hookbox events rejected` */
export function rejectedCommand(): Command {
  const made = command('rejected', 'list refused deliveries, and why', [
    'hookbox events rejected',
    'hookbox events rejected --json | jq -r \'select(.reason == "signature-mismatch").source\'',
  ]).option('--limit <n>', 'at most this many', wholeNumber(1, 1_000), 100);
  return withInbox(made, 'print a kind a line, as JSON')
    .addHelpText('after', '\nEqual ones share a line. The latest thousand kinds are kept, without their bodies.')
    .action(async (options: RejectedOptions) => {
      const { rejected } = await import('./rejected.ts');
      process.exitCode = await rejected(options);
    });
}

/** `hookbox events bulks` */
export function bulksCommand(): Command {
  const made = command('bulks', 'list reruns and discards of many events, newest first', [
    'hookbox events bulks',
    'hookbox events bulks --json | jq \'select(.state == "running").id\'',
  ]);
  return withNewest(made).action(async (options: NewestOptions) => {
    const { bulks } = await import('./print-bulks.ts');
    process.exitCode = await bulks(options);
  });
}

/** `hookbox events audit` */
export function auditCommand(): Command {
  const made = command('audit', 'list what operators did, newest first', [
    'hookbox events audit',
    "hookbox events audit --json | jq -r '[.at, .actor, .act] | @tsv'",
  ]);
  return withNewest(made).action(async (options: NewestOptions) => {
    const { audit } = await import('./print-audit.ts');
    process.exitCode = await audit(options);
  });
}

function withNewest(made: Command): Command {
  const paged = made
    .option('--limit <n>', 'at most this many', wholeNumber(1, 500), 50)
    .option('--before <n>', 'older than this number, to go on', wholeNumber(0));
  return withInbox(paged, 'print one a line, as JSON');
}
