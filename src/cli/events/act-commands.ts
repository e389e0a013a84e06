import type { Command } from 'commander';
import { command } from '../shared/command.ts';
import type { ActOnOptions } from './act-options.ts';
import { withBy, withFilter, withInbox } from './event-options.ts';
import { positiveNumber, wholeNumber } from '../shared/option-values.ts';

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
      `${NOTES}\nA filter finds dead events; ignored ones only with --state ignored. The handlers run where your processor runs.\n` +
        `Invalid events get their entity by hookbox's rule: if your receiver has an entity option, rerun them with\n` +
        `rerunEvents() or on its page.\n${EXIT_CODES}`,
    )
    .action(async (ids: string[], options: ActOnOptions) => {
      const { actOn } = await import('./act-on.ts');
      process.exitCode = await actOn('rerun', ids, options);
    });
}

/** `hookbox events discard` */
export function discardCommand(): Command {
  const discard = command('discard', 'put away dead and pending events that need no handling', [
    'hookbox events discard evt_1',
    'hookbox events discard --type cart.abandoned --until 2026-01-01 --dry-run',
    'hookbox events discard --fingerprint 5f3a9c0d1b2e4f67 --yes --reason "test orders"',
  ]);
  return withActing(discard, 'discard')
    .addHelpText('after', `${NOTES}\nDiscarded events are ignored: they stay stored and can be rerun.\n${EXIT_CODES}`)
    .action(async (ids: string[], options: ActOnOptions) => {
      const { actOn } = await import('./act-on.ts');
      process.exitCode = await actOn('discard', ids, options);
    });
}

const NOTES =
  '\nIds are acted on at once. What a filter finds is shown first, and you type its count to agree; events that come later\n' +
  'are left alone. Ctrl-C finishes what is under way and says how to go on.';
const EXIT_CODES = 'Exit codes: 0 all, 3 only some, 1 none, or you did not agree, 4 nothing was found.';

function withActing(made: Command, act: string): Command {
  const acting = made
    .argument('[event-ids...]', 'ids of events, instead of a filter')
    .option('--all', 'all that it can act on, instead of a filter')
    .option('--dry-run', 'show what would happen, and change nothing')
    .option('--yes', 'do not ask')
    .option('--rate <n>', 'at most this many a second; 500 unless given', positiveNumber)
    .option('--resume <bulk-id>', `go on with a stopped ${act}`, wholeNumber(1))
    .option('--cancel <bulk-id>', `end a ${act} that was stopped or runs elsewhere`, wholeNumber(1));
  return withInbox(withBy(withFilter(acting)), 'print an event a line as JSON, or the act on many');
}
