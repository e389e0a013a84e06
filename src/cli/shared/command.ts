import { Argument, Command, Option } from 'commander';
import type { ExitCode } from './output.ts';

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

export interface Notes {
  /** one paragraph each; a list has one item per line */
  readonly notes?: readonly (string | readonly string[])[] | undefined;
  readonly exitCodes?: Readonly<Record<number, string>> | undefined;
}

/** The third part reads the value, or is the default. */
type Row = readonly [
  flags: string,
  description: string,
  read?: string | number | ((text: string, before: never) => unknown),
  usual?: unknown,
];

export interface CommandSpec extends Notes {
  readonly description: string;
  /** docs/cli.md repeats them */
  readonly examples: readonly string[];
  readonly argument?: Row | Argument;
  /** a text is a heading, a function adds shared options */
  readonly options?: readonly (string | Row | Option | ((made: Command) => Command))[];
  readonly commands?: CommandTable;
  readonly run?: () => Promise<(...given: never[]) => Promise<ExitCode | void>>;
}

export type CommandTable = Readonly<Record<string, CommandSpec>>;

export function commandFrom(name: string, spec: CommandSpec): Command {
  const { description, examples, argument, options = [], commands = {}, run, notes, exitCodes } = spec;
  const made = withNotes(command(name, description, examples), { notes, exitCodes });
  if (argument instanceof Argument) made.addArgument(argument);
  else if (argument !== undefined) made.argument(...argumentsOf(argument));
  for (const part of options) {
    if (typeof part === 'string') made.optionsGroup(part);
    else if (typeof part === 'function') part(made);
    else if (part instanceof Option) made.addOption(part);
    else made.option(...argumentsOf(part));
  }
  for (const [below, each] of Object.entries(commands)) made.addCommand(commandFrom(below, each));
  if (run === undefined) return made;
  return made.action(async (...given) => {
    const work = await run();
    const code = await work(...(given as never[]));
    if (code !== undefined) process.exitCode = code;
  });
}

/** Commander's types lack a default value here. */
function argumentsOf([flags, description, read, usual]: Row): Parameters<typeof Command.prototype.option<unknown>> {
  return [flags, description, read as (text: string, before: unknown) => unknown, usual];
}

export function command(name: string, description: string, examples: readonly string[]): Command {
  return withExamples(new Command(name).description(description), examples);
}

export function withExamples(made: Command, examples: readonly string[]): Command {
  return Object.assign(made, { examples }).addHelpText('after', () => textAfterOptions(made));
}

export function withNotes(made: Command, notes: Notes): Command {
  return Object.assign(made, notes);
}

type Explained = Notes & { readonly examples?: readonly string[] };

export function examplesOf(made: Command): readonly string[] {
  return (made as Explained).examples ?? [];
}

/** `0 all, 1 none` */
export function exitCodesOf(made: Command): string {
  return Object.entries((made as Explained).exitCodes ?? {})
    .map(([code, meaning]) => `${code} ${meaning}`)
    .join(', ');
}

export function withHelp(made: Command): void {
  const headings = made.options.map(({ helpGroupHeading }) => helpGroupHeading);
  const help = new Option('-h, --help', 'show this help');
  const heading = headings.includes(GROUP.output) ? GROUP.output : headings.at(-1);
  made.addHelpOption(heading === undefined ? help : help.helpGroup(heading));
  if (made.commands.length > 0) made.helpCommand('help [command]', 'show help for a command');
}

function textAfterOptions(made: Command): string {
  const { notes = [], exitCodes = {} } = made as Explained;
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return [
    ...notes.map((note) => (typeof note === 'string' ? filled(note.split(' '), HELP_WIDTH) : note).join('\n')),
    ...(codes.length === 0 ? [] : [`Exit codes:\n${codes.join('\n')}`]),
    `Examples:\n${examplesOf(made).map(wrappedCommand).join('\n')}`,
  ]
    .map((part) => `\n${part}`)
    .join('\n');
}

export const HELP_WIDTH = 80;

const INDENT = '  ';

/** In two columns. */
export function nameList(title: string, entries: Readonly<Record<string, string>>): readonly string[] {
  const width = Math.max(...Object.keys(entries).map(({ length }) => length));
  const before = ' '.repeat(INDENT.length + width + 2);
  return [
    `${title}:`,
    ...Object.entries(entries).flatMap(([name, meaning]) => {
      const [first = '', ...others] = filled(meaning.split(' '), HELP_WIDTH - before.length);
      return [`${INDENT}${name.padEnd(width)}  ${first}`, ...others.map((line) => before + line)];
    }),
  ];
}

export function wrappedCommand(line: string): string {
  if (INDENT.length + line.length <= HELP_WIDTH) return INDENT + line;
  const words = line.match(/(?:"[^"]*"|'[^']*'|\$\([^)]*\)|[^\s"'$]|\$)+/g) ?? [];
  // An option and its value stay on one line.
  const parts: string[] = [];
  for (const word of words) {
    const before = parts.at(-1);
    if (before !== undefined && /^--?[\w-]+$/.test(before) && !word.startsWith('-')) {
      parts[parts.length - 1] = `${before} ${word}`;
    } else parts.push(word);
  }
  const lines = filled(parts, HELP_WIDTH - ' \\'.length - INDENT.length, '    ');
  return lines.map((text) => INDENT + text).join(' \\\n');
}

export function filled(words: readonly string[], width: number, indent = ''): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(line === undefined ? word : indent + word);
  }
  return lines;
}
