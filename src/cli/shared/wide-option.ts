import type { Command } from 'commander';
import { GROUP } from './command.ts';

/** How wide tables may be. */
export interface WideOptions {
  readonly wide?: boolean;
}

/** Adds what leaves the columns of a table as wide as they are. */
export function withWide(command: Command): Command {
  return command
    .optionsGroup(GROUP.output)
    .option('--wide', 'do not shorten columns to fit the terminal; output to a pipe is never shortened');
}
