import type { Command } from 'commander';
import { command } from '../../command.ts';
import type { ActOnOptions } from '../../events/act-on.ts';
import { withBy, withFilter, withInbox } from '../../events/options.ts';
import { positiveNumber, wholeNumber } from '../../option-values.ts';

/** `hookbox events rerun` */
export function rerunCommand(): Command {
  const rerun = command('rerun', 'have dead events handled again, or ignored ones', [
    'hookbox events rerun evt_1 evt_2',
    'hookbox events rerun --state dead --error ECONNREFUSED --since 6h',
    'hookbox events rerun --fingerprint 5f3a9c0d1b2e4f67 --dry-run',
    'hookbox events rerun --all --yes --rate 50 --reason "outage of the warehouse"',
    'hookbox events rerun --resume 7',
  ]).option('--force', 'ignored and processed events, too: their handlers run once more');
  return withActing(rerun, 'rerun')
    .addHelpText(
      'after',
      `${NOTES}\nA filter finds dead events; ignored ones, which have no handler or were discarded, only with --state ignored.\n` +
        `The handlers run where your processor runs, not here. Events that are stored as invalid get their entity by\n` +
        `hookbox's rule; where your receiver has an entity option of its own, rerun them with rerunEvents() or on its page.\n${EXIT_CODES}`,
    )
    .action(async (ids: string[], options: ActOnOptions) => {
      const { actOn } = await import('../../events/act-on.ts');
      process.exitCode = await actOn('rerun', ids, options);
    });
}

/** `hookbox events discard` */
export function discardCommand(): Command {
  const discard = command('discard', 'put away dead and pending events that nobody shall handle', [
    'hookbox events discard evt_1',
    'hookbox events discard --type cart.abandoned --until 2026-01-01 --dry-run',
    'hookbox events discard --fingerprint 5f3a9c0d1b2e4f67 --yes --reason "test orders"',
  ]);
  return withActing(discard, 'discard')
    .addHelpText('after', `${NOTES}\nDiscarded events are ignored: they stay stored, and can be rerun.\n${EXIT_CODES}`)
    .action(async (ids: string[], options: ActOnOptions) => {
      const { actOn } = await import('../../events/act-on.ts');
      process.exitCode = await actOn('discard', ids, options);
    });
}

const NOTES =
  '\nIds are acted on at once. What a filter finds is counted and shown first, and you type the count to agree; exactly\n' +
  'those events are acted on, and none that come later. Ctrl-C stops after what is under way and says how to go on.';
const EXIT_CODES = 'Exit codes: 0 all of them, 3 only some, 1 none, or you did not agree, 4 nothing was found.';

function withActing(made: Command, act: string): Command {
  const acting = made
    .argument('[event-ids...]', 'ids of events; or else give a filter')
    .option('--all', 'every event that can be acted on, instead of a filter')
    .option('--dry-run', 'show what would happen, and do nothing')
    .option('--yes', 'do not ask')
    .option('--rate <n>', 'this many a second at most; 500 unless given', positiveNumber)
    .option('--resume <bulk-id>', `go on with a ${act} that was stopped`, wholeNumber(1))
    .option('--cancel <bulk-id>', `end a ${act} that was stopped, or that runs elsewhere`, wholeNumber(1));
  return withInbox(withBy(withFilter(acting)), 'print the results as JSON: an event on a line, or the act on many');
}
