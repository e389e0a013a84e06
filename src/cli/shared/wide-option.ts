import type { Command } from 'commander';

/** How wide tables may be. */
export interface WideOptions {
  readonly wide?: boolean;
}

/** Adds what leaves the columns of a table as wide as they are. */
export function withWide(command: Command): Command {
  return command.option('--wide', 'shorten nothing to fit the terminal; a pipe gets all of it anyway');
}
