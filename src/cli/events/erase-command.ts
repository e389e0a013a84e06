import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import type { EraseOptions } from './erase.ts';
import { withBy, withInbox } from './event-options.ts';

/** `hookbox events erase` */
export function eraseCommand(): Command {
  const erase = command('erase', 'remove everything stored about an order, a cart or a product', [
    'hookbox events erase ord_42 --dry-run',
    'hookbox events erase order:mer_7:ord_42 --yes --reason "request of 3 May"',
  ])
    .argument('<entity>', 'its name as events list shows it, or the id in it')
    .option('--dry-run', 'count the events, and change nothing')
    .option('--yes', 'do not ask');
  return withInbox(withBy(erase))
    .addHelpText(
      'after',
      '\nBodies, other bodies, errors and the name go, in whatever state the events are; pending ones are not handled any\n' +
        'more. The audit keeps a hash of the name. Backups and exports are yours to look after.\n' +
        'Exit codes: 0 all, 3 events in processing are left, 4 there are no such events.',
    )
    .action(async (entity: string, options: EraseOptions) => {
      const { erase } = await import('./erase.ts');
      process.exitCode = await erase(entity, options);
    });
}
