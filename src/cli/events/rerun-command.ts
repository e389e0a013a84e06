import type { Command } from 'commander';
import { command, withNotes } from '../shared/command.ts';
import { actNotes, withActing, type ActOnOptions } from './act-options.ts';

/** `hookbox events rerun` */
export function rerunCommand(): Command {
  const rerun = command('rerun', 'run the handlers of dead, ignored or discarded events again', [
    'hookbox events rerun evt_1 evt_2',
    'hookbox events rerun --state dead --error ECONNREFUSED --since 6h',
    'hookbox events rerun --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
    'hookbox events rerun --all --yes --rate 50 --reason "outage of the warehouse"',
    'hookbox events rerun --resume 7',
  ]);
  const made = withNotes(
    withActing(rerun, 'rerun'),
    actNotes(
      'By default, a filter selects only dead events. For ignored or discarded events, add --state ignored or --state discarded. Your processor runs the ' +
        'handlers.',
      'This command uses the built-in rule to find the entity of an invalid event. If your receiver has its ' +
        'own rule (the option "entity"), rerun invalid events with rerunEvents() or on the operators’ page.',
    ),
  );
  return made.action(async (ids: string[], options: ActOnOptions) => {
    const { actOn } = await import('./act-on.ts');
    process.exitCode = await actOn('rerun', ids, options);
  });
}
