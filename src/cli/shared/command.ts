import { Command, Option } from 'commander';
import { paragraph, wrappedCommand } from './help-lines.ts';

/** The headings under which help groups options. */
export const GROUP = {
  events: 'Which events:',
  act: 'What to do:',
  output: 'Output:',
  inbox: 'Inbox:',
  delivery: 'Delivery:',
  server: 'Server:',
  event: 'The event:',
  audit: 'Audit:',
  service: 'The service:',
} as const;

/** What the help of a command says besides its options. */
export interface Notes {
  /** one paragraph each; a list stands in lines of its own */
  readonly notes?: readonly (string | readonly string[])[];
  /** what each exit code means, where the usual meaning says too little */
  readonly exitCodes?: Readonly<Record<number, string>>;
}

interface Explained extends Notes {
  readonly examples?: readonly string[];
}

/** A command with its examples, which its help shows last and docs/cli.md repeats. */
export function command(name: string, description: string, examples: readonly string[]): Command {
  return withExamples(new Command(name).description(description), examples);
}

/** Gives a command examples. */
export function withExamples(made: Command, examples: readonly string[]): Command {
  return Object.assign(made, { examples }).addHelpText('after', () => textAfterOptions(made));
}

/** Gives a command its own help: an option beside its other options and, where others are beneath it, a command. */
export function withHelp(made: Command): void {
  const headings = made.options.map(({ helpGroupHeading }) => helpGroupHeading);
  const help = new Option('-h, --help', 'show this help');
  const heading = headings.includes(GROUP.output) ? GROUP.output : headings.at(-1);
  made.addHelpOption(heading === undefined ? help : help.helpGroup(heading));
  if (made.commands.length > 0) made.helpCommand('help [command]', 'show help for a command');
}

/** Gives a command notes, which its help shows before the examples. */
export function withNotes(made: Command, notes: Notes): Command {
  return Object.assign(made, notes);
}

/** The examples of a command. */
export function examplesOf(made: Command): readonly string[] {
  return (made as Explained).examples ?? [];
}

/** The exit codes that a command explains, on one line: `0 all, 1 none`. */
export function exitCodesOf(made: Command): string {
  return Object.entries((made as Explained).exitCodes ?? {})
    .map(([code, meaning]) => `${code} ${meaning}`)
    .join(', ');
}

function textAfterOptions(made: Command): string {
  const { notes = [], exitCodes = {} } = made as Explained;
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return [
    ...notes.map((note) => (typeof note === 'string' ? paragraph(note) : note.join('\n'))),
    ...(codes.length === 0 ? [] : [`Exit codes:\n${codes.join('\n')}`]),
    `Examples:\n${examplesOf(made).map(wrappedCommand).join('\n')}`,
  ]
    .map((part) => `\n${part}`)
    .join('\n');
}
