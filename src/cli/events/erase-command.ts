import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import type { EraseOptions } from './erase.ts';
import { withBy, withInbox } from './event-options.ts';

/** `hookbox events erase` */
export function eraseCommand(): Command {
  const erase = command('erase', 'erase all data about one order, cart or product', [
    'hookbox events erase ord_42 --dry-run',
    'hookbox events erase order:mer_7:ord_42 --yes --reason "request of 3 May"',
  ])
    .argument('<entity>', 'the entity, as shown by "events list", or the id of the order, cart or product')
    .optionsGroup(GROUP.act)
    .option('--dry-run', 'count the events; change nothing')
    .option('--yes', 'do not ask for confirmation');
  return withNotes(withInbox(withBy(erase)), {
    notes: [
      'This erases the name of the entity, and the bodies, conflicting bodies and errors of all its events, whatever their state. Erased pending events are never handled. The audit keeps a hash of the name. Existing backups and exports still contain the data.',
    ],
    exitCodes: {
      0: 'all events of the entity are erased',
      3: 'some events are being processed, so they were not erased',
      4: 'no event of this entity was found',
    },
  }).action(async (entity: string, options: EraseOptions) => {
    const { erase } = await import('./erase.ts');
    process.exitCode = await erase(entity, options);
  });
}
