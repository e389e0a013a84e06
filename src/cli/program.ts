import { Command, CommanderError } from 'commander';
import type { commands as table } from './commands.ts';
import type { roomCommands } from './room-commands.ts';
import { commandFrom, HELP_WIDTH, withExamples, withHelp } from './shared/command.ts';
import { EXIT, tellFailure, interruptWithReader, tell } from './shared/output.ts';
import { VERSION } from '../version.ts';

const makers: Readonly<Record<string, () => Promise<Command>>> = {
  check: fromRoom('check'),
  serve: fromRoom('serve'),
  sandbox: fromRoom('sandbox'),
  trigger: fromTable('trigger'),
  events: async () => commandFrom('events', (await import('./events/commands.ts')).eventsCommand),
  ui: fromTable('ui'),
  replay: fromTable('replay'),
  scenario: fromRoom('scenario'),
  sign: fromTable('sign'),
  verify: fromRoom('verify'),
  fixtures: fromTable('fixtures'),
  schema: fromTable('schema'),
  migrate: fromTable('migrate'),
  doctor: fromRoom('doctor'),
  completion: fromTable('completion'),
};

function fromTable(name: keyof typeof table): () => Promise<Command> {
  return async () => commandFrom(name, (await import('./commands.ts')).commands[name]);
}

function fromRoom(name: keyof typeof roomCommands): () => Promise<Command> {
  return async () => commandFrom(name, (await import('./room-commands.ts')).roomCommands[name]);
}

/** Loads only the command that the first argument names. */
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
    // Subcommands may have options of the same name.
    .enablePositionalOptions();
  if (first !== '--version' && first !== '-v') {
    const named = Object.hasOwn(makers, first) ? makers[first] : undefined;
    for (const make of named === undefined ? Object.values(makers) : [named]) program.addCommand(await make());
  }
  throwInsteadOfExit(program);
  return program;
}

export async function run(given: readonly string[]): Promise<void> {
  interruptWithReader();
  try {
    const hasEnvFile = given.some((arg) => arg.startsWith('--env-file'));
    const rest = hasEnvFile ? (await import('./shared/files.ts')).withEnvFiles(given) : given;
    const args = rest[0] === '-V' ? ['--version'] : rest;
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

/** Commander prints its suggestion on a separate line. */
function linesOfError(text: string): readonly string[] {
  const [, said = '', suggested] = /^([^]*?)(?:\n(\(Did you mean [^\n]*\)))?\n*$/.exec(text) ?? [];
  return suggested === undefined ? [said] : [said, suggested];
}
