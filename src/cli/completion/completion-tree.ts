import type { Command, Option } from 'commander';
import { eventTypes } from '../../events/event-types.ts';
import { deadReasons, eventStates } from '../../inbox/event.ts';
import { probeNames } from '../check/probe-names.ts';

/** Something that may be typed, with what it is for. */
export interface Word {
  readonly word: string;
  readonly description: string;
}

/** An option as it may be typed. */
export interface CompletedOption {
  /** with their dashes; the longest last */
  readonly flags: readonly string[];
  readonly description: string;
  /** what may follow it: some words, anything (`[]`), or nothing (`null`) */
  readonly values: readonly string[] | null;
}

/** What may follow a command. */
export interface Place {
  /** the commands that lead there: `/events/list`; empty for `hookbox` itself */
  readonly path: string;
  /** commands beneath it, or what its argument may be */
  readonly words: readonly Word[];
  /** nothing but these words and options may stand there: no file */
  readonly only: boolean;
  readonly options: readonly CompletedOption[];
}

/** What may stand for a name in angle or square brackets, where the command itself does not say so to its parser. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  event: eventTypes,
  type: eventTypes,
  state: eventStates,
  reason: deadReasons,
  probe: probeNames,
};

const HELP: CompletedOption = { flags: ['-h', '--help'], description: 'show this help', values: null };

/** Every place of a program, the program itself first. */
export function placesOf(program: Command, path = ''): readonly Place[] {
  const { commands, registeredArguments, options } = program;
  const beneath = commands.map((each) => ({ word: each.name(), description: each.description() }));
  const values = registeredArguments.flatMap((argument) => argument.argChoices ?? VALUES[argument.name()] ?? []);
  const place: Place = {
    path,
    only: beneath.length > 0 || registeredArguments.some(({ argChoices }) => argChoices !== undefined),
    words: [...beneath, ...values.map((word) => ({ word, description: '' }))],
    options: [...options.filter(({ hidden }) => !hidden).map(completed), HELP],
  };
  return [place, ...commands.flatMap((each) => placesOf(each, `${path}/${each.name()}`))];
}

function completed({ flags, short, long, description, argChoices }: Option): CompletedOption {
  const [, name] = /[<[]([\w-]+)/.exec(flags) ?? [];
  const values = name === undefined ? null : (argChoices ?? VALUES[name] ?? []);
  return { flags: [short, long].filter((flag) => flag !== undefined), description, values };
}
