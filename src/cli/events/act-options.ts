import type { ByOptions, FilterOptions, InboxOptions } from './event-options.ts';

/** What the arguments of `events rerun` and `events discard` say. */
export interface ActOnOptions extends InboxOptions, FilterOptions, ByOptions {
  readonly all?: boolean;
  readonly force?: boolean;
  readonly rate?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly resume?: number;
  readonly cancel?: number;
}
