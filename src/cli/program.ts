import { Command, CommanderError } from 'commander';
import type { commands as table } from './commands.ts';
import { commandFrom, HELP_WIDTH, withExamples, withHelp } from './shared/command.ts';
import { EXIT, tellFailure, interruptWithReader, tell } from './shared/output.ts';
import { VERSION } from '../version.ts';

/** How each command is made, in the order in which help lists them. */
const makers: Readonly<Record<string, () => Promise<Command>>> = {
  check: async () => (await import('./check/check-command.ts')).checkCommand(),
  serve: async () => (await import('./serve/serve-command.ts')).serveCommand(),
  sandbox: async () => (await import('./sandbox/sandbox-command.ts')).sandboxCommand(),
  trigger: fromTable('trigger'),
  events: async () => commandFrom('events', (await import('./events/commands.ts')).eventsCommand),
  ui: fromTable('ui'),
  replay: fromTable('replay'),
  scenario: async () => (await import('./scenario/scenario-command.ts')).scenarioCommand(),
  sign: fromTable('sign'),
  verify: async () => (await import('./verify/verify-command.ts')).verifyCommand(),
  fixtures: fromTable('fixtures'),
  schema: fromTable('schema'),
  migrate: fromTable('migrate'),
  doctor: async () => (await import('./doctor/doctor-command.ts')).doctorCommand(),
  completion: fromTable('completion'),
};

function fromTable(name: keyof typeof table): () => Promise<Command> {
  return async () => commandFrom(name, (await import('./commands.ts')).commands[name]);
}

/**
 * The program with the command that is asked for, or with all of them where none is: only what is needed is loaded, so
 * that every command starts fast, and `--version` the fastest.
 *
 * @param first - the first argument
 */
export async function hookboxProgram(first = ''): Promise<Command> {
  const program = withExamples(new Command('hookbox'), [
    'hookbox serve handlers.ts',
    'hookbox sandbox --to http://localhost:3000/webhooks',
    'hookbox trigger order.created --override data.total=12.50',
    'hookbox check http://localhost:3000/webhooks',
    'hookbox verify body.json --signature 5f3a… --explain',
    'hookbox events list --state dead',
    'hookbox help replay',
  ])
    .description('receive, send, check and inspect webhooks of the Commerce Ordering Service')
    .version(VERSION, '-v, --version', 'print the version')
    .option(
      '--env-file <path>',
      'read environment variables from a file; variables that are already set keep their values (repeatable, ' +
        'anywhere on the line)',
    )
    // Commands and those beneath them may have options of the same name.
    .enablePositionalOptions();
  if (!isVersion(first)) {
    const named = Object.hasOwn(makers, first) ? makers[first] : undefined;
    for (const make of named === undefined ? Object.values(makers) : [named]) program.addCommand(await make());
  }
  throwInsteadOfExit(program);
  return program;
}

function isVersion(argument: string): boolean {
  return argument === '--version' || argument === '-v';
}

/** As `--version` was called before `-v`. */
const OLDER_VERSION = '-V';

/** Runs what the arguments say, and says with which code to exit. */
export async function run(given: readonly string[]): Promise<void> {
  interruptWithReader();
  try {
    const hasEnvFile = given.some((arg) => arg.startsWith('--env-file'));
    const rest = hasEnvFile ? (await import('./shared/files.ts')).withEnvFiles(given) : given;
    const args = rest[0] === OLDER_VERSION ? ['--version'] : rest;
    const program = await hookboxProgram(args[0]);
    await program.parseAsync(args, { from: 'user' });
  } catch (failure) {
    // Commander has already printed its message.
    if (failure instanceof CommanderError) {
      process.exitCode = failure.exitCode === 0 ? EXIT.ok : EXIT.usage;
      return;
    }
    tellFailure(failure);
  }
}

function throwInsteadOfExit(command: Command): void {
  withHelp(command);
  command.configureOutput({
    outputError: (text) => tell(linesOfError(text)),
    getOutHelpWidth: () => Math.min(process.stdout.columns || HELP_WIDTH, HELP_WIDTH),
  });
  command.exitOverride().showHelpAfterError('(add --help to see the options)');
  for (const each of command.commands) throwInsteadOfExit(each);
}

/** Commander repeats what was typed, which may have been pasted, and suggests something on a line of its own. */
function linesOfError(text: string): readonly string[] {
  const [, said = '', suggested] = /^([^]*?)(?:\n(\(Did you mean [^\n]*\)))?\n*$/.exec(text) ?? [];
  return suggested === undefined ? [said] : [said, suggested];
}
