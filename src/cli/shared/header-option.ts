import type { Command } from 'commander';
import { collected } from './option-values.ts';

/** Adds headers that are sent with each delivery. */
export function withHeader(command: Command): Command {
  return command.option(
    '--header <header>',
    "add or replace a header, written as 'Name: value'; @file reads one header per line and keeps passwords out of the " +
      'arguments ' +
      '(repeatable)',
    collected,
  );
}
