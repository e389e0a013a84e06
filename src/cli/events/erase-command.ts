import type { Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import type { EraseOptions } from './erase.ts';
import { withBy, withInbox } from './event-options.ts';

/** `hookbox events erase` */
export function eraseCommand(): Command {
  const erase = command('erase', 'erase all data about an order, a cart or a product', [
    'hookbox events erase ord_42 --dry-run',
    'hookbox events erase order:mer_7:ord_42 --yes --reason "request of 3 May"',
  ])
    .argument('<entity>', 'the entity as events list shows it, or the id of the order, cart or product')
    .optionsGroup(GROUP.act)
    .option('--dry-run', 'count the events; change nothing')
    .option('--yes', 'do not ask for confirmation');
  return withNotes(withInbox(withBy(erase)), {
    notes: [
      'This erases bodies, conflicting bodies, errors and the name of the entity, in every state of the events. Pending ' +
        'events are no longer handled. The audit keeps a hash of the name. Backups and exports are not changed.',
    ],
    exitCodes: { 0: 'all', 3: 'events in processing are left', 4: 'no event of this entity was found' },
  }).action(async (entity: string, options: EraseOptions) => {
    const { erase } = await import('./erase.ts');
    process.exitCode = await erase(entity, options);
  });
}
