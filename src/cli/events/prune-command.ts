import type { Command } from 'commander';
import { prunableStates } from '../../inbox/operator/removal.ts';
import { command } from '../shared/command.ts';
import { collected, collectedFrom } from '../shared/option-values.ts';
import { withBy, withInbox } from './event-options.ts';
import type { PruneCommandOptions } from './prune.ts';

/** `hookbox events prune` */
export function pruneCommand(): Command {
  const prune = command('prune', 'remove the bodies of old events; their ids stay known', [
    'hookbox events prune --older-than 30d --dry-run',
    'hookbox events prune --older-than 90d --state processed --state dead --yes',
  ])
    .requiredOption('--older-than <age>', 'events that ended longer ago than this (30d), or before an ISO date (UTC)')
    .option(
      '--state <state>',
      `events in this state (${prunableStates.join(', ')}); processed alone unless given; may be repeated`,
      collectedFrom(prunableStates),
    )
    .option('--type <type>', 'events of this type; may be repeated', collected)
    .option('--endpoint <name>', 'received at this endpoint; at any unless given')
    .option('--dry-run', 'count them, and change nothing')
    .option('--yes', 'do not ask');
  return withInbox(withBy(prune))
    .addHelpText(
      'after',
      '\nA pruned event cannot be rerun, and is exported without its body. When it is sent again, it is a duplicate.\n' +
        'Deliveries go on meanwhile. What holds the inbox keeps its size and uses the room again.\n' +
        'Then it sums up counts and indexes new events: where only functions receive, run it once an hour.',
    )
    .action(async (options: PruneCommandOptions) => {
      const { prune } = await import('./prune.ts');
      process.exitCode = await prune(options);
    });
}
