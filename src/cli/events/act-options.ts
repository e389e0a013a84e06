import type { Command } from 'commander';
import type { Act } from '../../ops/index.ts';
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

/** What `--all` means. */
const ALL = {
  rerun: 'rerun all dead events',
  discard: 'discard all dead and pending events',
  'retry-now': 'retry all failed events now',
} as const satisfies Record<Act, string>;

/** Adds the arguments that all of them have. */
export function withActing(made: Command, act: Act): Command {
  const acting = made
    .argument(
      '[event-ids...]',
      'ids of events, full or shortened (evt_…wYb2); use ids or a filter, not both; with ids, --state ' +
        'limits the change to events in that state',
    )
    .optionsGroup(GROUP.act)
    .option('--dry-run', 'show what would happen; change nothing')
    .option('--yes', 'do not ask for confirmation')
    .option('--all', `${ALL[act]}, instead of only those that match a filter`)
    .option('--rate <n>', 'change at most this many events per second (default: 500)', positiveNumber)
    .option('--resume <bulk-id>', `continue a stopped ${act}`, wholeNumber(1))
    .option('--cancel <bulk-id>', `cancel a ${act} that has stopped or is running in another process`, wholeNumber(1));
  if (act === 'rerun')
    acting.option(
      '--force',
      'also rerun processed events; with a filter but without --state, also rerun ignored and discarded events',
    );
  return withInbox(
    withWide(withBy(withFilter(acting))),
    'print JSON: one line per event id, or one document for a bulk action',
  );
}

/** The help of each, around what is its own. */
export function actNotes(...own: readonly string[]): Notes {
  return {
    notes: [
      'Given ids, hookbox acts immediately. Given a filter, it first shows the events that it found and ' +
        'asks you to type how many there are. Events that arrive later are not included. On Ctrl-C, hookbox ' +
        'finishes the current step, stops, and shows how to continue.',
      ...own,
    ],
    exitCodes: {
      0: 'all events changed',
      1: 'no event changed, or you did not confirm',
      3: 'only some events changed',
      4: 'no event matched',
    },
  };
}
