import type { Command } from 'commander';
import { collected } from './option-values.ts';

/** Adds headers that are sent with each delivery. */
export function withHeader(command: Command): Command {
  return command.option(
    '--header <header>',
    "send this header ('Name: value') too, or in place of another; @file has one a line, for passwords, which arguments " +
      'would show to every user of the machine; may be repeated',
    collected,
  );
}
