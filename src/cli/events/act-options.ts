import type { Command } from 'commander';
import { GROUP, type Notes } from '../shared/command.ts';
import { positiveNumber, wholeNumber } from '../shared/option-values.ts';
import { withWide, type WideOptions } from '../shared/wide-option.ts';
import {
  withBy,
  withFilter,
  withInbox,
  type ByOptions,
  type FilterOptions,
  type InboxOptions,
} from './event-options.ts';

/** What the arguments of `events rerun`, `events discard` and `events retry-now` say. */
export interface ActOnOptions extends InboxOptions, FilterOptions, ByOptions, WideOptions {
  readonly all?: boolean;
  readonly force?: boolean;
  readonly rate?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly resume?: number;
  readonly cancel?: number;
}

/** Adds the arguments that all of them have. */
export function withActing(made: Command, act: string): Command {
  const acting = made
    .argument(
      '[event-ids...]',
      'event ids, which can be shortened (evt_…wYb2), instead of a filter; with --state, only events in that state ' +
        'are changed',
    )
    .optionsGroup(GROUP.act)
    .option('--dry-run', 'show what would happen; change nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--all', `${act} all events to which this applies, instead of those of a filter`)
    .option('--rate <n>', 'change at most this many events per second (default: 500)', positiveNumber)
    .option('--resume <bulk-id>', `continue a stopped ${act}`, wholeNumber(1))
    .option('--cancel <bulk-id>', `cancel a ${act} that has stopped or is running elsewhere`, wholeNumber(1));
  if (act === 'rerun')
    acting.option('--force', 'also rerun ignored, discarded and processed events; their handlers run again');
  return withInbox(
    withWide(withBy(withFilter(acting))),
    'print one line of JSON per event, or one for the bulk action',
  );
}

/** The help of each, around what is its own. */
export function actNotes(...own: readonly string[]): Notes {
  return {
    notes: [
      'For ids, hookbox acts immediately. For a filter, it first shows the events that it found and asks you to ' +
        'type their number. Events that arrive later are not included. Ctrl-C finishes the current step and shows how ' +
        'to continue.',
      ...own,
    ],
    exitCodes: { 0: 'all', 1: 'nothing changed, or you did not confirm', 3: 'only some', 4: 'no event matched' },
  };
}
