import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { ACT_NOTES, EXIT_CODES, withActing, type ActOnOptions } from './act-options.ts';

/** `hookbox events discard` */
export function discardCommand(): Command {
  const discard = command('discard', 'put away dead and pending events that need no handling', [
    'hookbox events discard evt_1',
    'hookbox events discard --type cart.abandoned --until 2026-01-01 --dry-run',
    'hookbox events discard --fingerprint 5f3a9c0d1b2e4f67 --yes --reason "test orders"',
  ]);
  return withActing(discard, 'discard')
    .addHelpText(
      'after',
      `${ACT_NOTES}\nDiscarded events are ignored: they stay stored and can be rerun.\n${EXIT_CODES}`,
    )
    .action(async (ids: string[], options: ActOnOptions) => {
      const { actOn } = await import('./act-on.ts');
      process.exitCode = await actOn('discard', ids, options);
    });
}
