import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import { ACT_NOTES, EXIT_CODES, withActing, type ActOnOptions } from './act-options.ts';

/** `hookbox events rerun` */
export function rerunCommand(): Command {
  const rerun = command('rerun', 'have dead or ignored events handled again', [
    'hookbox events rerun evt_1 evt_2',
    'hookbox events rerun --state dead --error ECONNREFUSED --since 6h',
    'hookbox events rerun --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
    'hookbox events rerun --all --yes --rate 50 --reason "outage of the warehouse"',
    'hookbox events rerun --resume 7',
  ]).option('--force', 'ignored and processed events too: their handlers run once more');
  return withActing(rerun, 'rerun')
    .addHelpText(
      'after',
      `${ACT_NOTES}\nA filter finds dead events; ignored ones only with --state ignored. The handlers run where your processor runs.\n` +
        `Invalid events get their entity by hookbox's rule: if your receiver has an entity option, rerun them with\n` +
        `rerunEvents() or on its page.\n${EXIT_CODES}`,
    )
    .action(async (ids: string[], options: ActOnOptions) => {
      const { actOn } = await import('./act-on.ts');
      process.exitCode = await actOn('rerun', ids, options);
    });
}
