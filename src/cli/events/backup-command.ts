import type { Command } from 'commander';
import { command, withNotes } from '../shared/command.ts';
import { withBy, withInbox, type ByOptions, type InboxOptions } from './event-options.ts';

/** `hookbox events backup` */
export function backupCommand(): Command {
  const made = command('backup', 'copy the inbox to a new file; the inbox can stay in use', [
    'hookbox events backup /backups/hookbox-$(date +%F).db',
  ]).argument('<file>', 'the new file');
  return withNotes(withInbox(withBy(made)), {
    notes: ['The copy contains all data of the inbox at one moment. You can use the copy as an inbox.'],
  }).action(async (file: string, options: InboxOptions & ByOptions) => {
    const { backUp } = await import('./backup.ts');
    process.exitCode = await backUp(file, options);
  });
}
