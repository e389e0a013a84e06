import type { Command } from 'commander';
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
    .argument('[event-ids...]', 'ids of events, instead of a filter; with --state only those in that state')
    .option('--all', 'all that it can act on, instead of a filter')
    .option('--dry-run', 'show what would happen, and change nothing')
    .option('--yes', 'do not ask')
    .option('--rate <n>', 'at most this many a second; 500 unless given', positiveNumber)
    .option('--resume <bulk-id>', `go on with a stopped ${act}`, wholeNumber(1))
    .option('--cancel <bulk-id>', `end a ${act} that was stopped or runs elsewhere`, wholeNumber(1));
  return withInbox(withWide(withBy(withFilter(acting))), 'print an event a line as JSON, or the act on many');
}

/** What the help of each says. */
export const ACT_NOTES =
  '\nIds are acted on at once. What a filter finds is shown first, and you type its count to agree; events that come later\n' +
  'are left alone. Ctrl-C finishes what is under way and says how to go on.';
export const EXIT_CODES = 'Exit codes: 0 all, 3 only some, 1 none, or you did not agree, 4 nothing was found.';
