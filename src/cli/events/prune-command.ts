import type { Command } from 'commander';
import { prunableStates } from '../../inbox/event.ts';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { collected, collectedFrom } from '../shared/option-values.ts';
import { withBy, withInbox } from './event-options.ts';
import type { PruneCommandOptions } from './prune.ts';

/** `hookbox events prune` */
export function pruneCommand(): Command {
  const prune = command('prune', 'remove the bodies of old events; their ids stay in the inbox', [
    'hookbox events prune --older-than 30d --dry-run',
    'hookbox events prune --older-than 90d --state processed --state dead --yes',
  ])
    .optionsGroup(GROUP.events)
    .requiredOption('--older-than <age>', 'events settled before this time: an age (30d) or an ISO date (UTC)')
    .option(
      '--state <state>',
      `events in this state: ${prunableStates.join(', ')} (repeatable; default: processed)`,
      collectedFrom(prunableStates),
    )
    .option('--type <type>', 'events of this type (repeatable)', collected)
    .option('--endpoint <name>', 'events received at this endpoint (default: any)')
    .optionsGroup(GROUP.act)
    .option('--dry-run', 'count the events; change nothing')
    .option('--yes', 'do not ask for confirmation');
  return withNotes(withInbox(withBy(prune)), {
    notes: [
      'A pruned event cannot be rerun, and exports do not contain its body. hookbox still recognises its redeliveries as duplicates.',
      'You can prune while deliveries arrive. The inbox keeps its size on disk and reuses the freed space.',
      'Pruning also indexes new events and merges old counts. If only serverless functions use the inbox, run prune ' +
        'once an hour.',
    ],
  }).action(async (options: PruneCommandOptions) => {
    const { prune } = await import('./prune.ts');
    process.exitCode = await prune(options);
  });
}
