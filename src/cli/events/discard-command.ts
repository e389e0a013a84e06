import type { Command } from 'commander';
import { command, withNotes } from '../shared/command.ts';
import { actNotes, withActing, type ActOnOptions } from './act-options.ts';

/** `hookbox events discard` */
export function discardCommand(): Command {
  const discard = command('discard', 'discard dead and pending events that need no handling', [
    'hookbox events discard evt_1',
    'hookbox events discard --type cart.abandoned --until 2026-01-01 --dry-run',
    'hookbox events discard --fingerprint 5f3a9c0d1b2e4f67 --yes --reason "test orders"',
  ]);
  return withNotes(
    withActing(discard, 'discard'),
    actNotes('Discarded events remain in the inbox, and you can rerun them.'),
  ).action(async (ids: string[], options: ActOnOptions) => {
    const { actOn } = await import('./act-on.ts');
    process.exitCode = await actOn('discard', ids, options);
  });
}
