import { Command, CommanderError } from 'commander';
import { checkCommand } from './commands/check.ts';
import { doctorCommand } from './commands/doctor.ts';
import { eventsCommand } from './commands/events.ts';
import { fixturesCommand } from './commands/fixtures.ts';
import { replayCommand } from './commands/replay.ts';
import { scenarioCommand } from './commands/scenario.ts';
import { schemaCommand } from './commands/schema.ts';
import { serveCommand } from './commands/serve.ts';
import { signCommand } from './commands/sign.ts';
import { triggerCommand } from './commands/trigger.ts';
import { uiCommand } from './commands/ui.ts';
import { verifyCommand } from './commands/verify.ts';
import { withExamples } from './command.ts';
import { EXIT } from './exit.ts';
import { tellFailure } from './failure.ts';
import { VERSION } from '../version.ts';
import { interruptWithReader } from './output.ts';

/** All commands. Each loads what it needs when it runs, so that `--help` and `--version` are fast. */
export function hookboxProgram(): Command {
  const program = withExamples(new Command('hookbox'), [
    'hookbox serve handlers.ts',
    'hookbox trigger order.created --override data.total=12.50',
    'hookbox check http://localhost:3000/webhooks',
    'hookbox verify body.json --signature 5f3a… --explain',
    'hookbox events list --state dead',
    'hookbox help replay',
  ])
    .description('receive, send, check and inspect the webhooks of the Commerce Ordering Service, offline')
    .version(VERSION)
    .addCommand(checkCommand())
    .addCommand(serveCommand())
    .addCommand(triggerCommand())
    .addCommand(eventsCommand())
    .addCommand(uiCommand())
    .addCommand(replayCommand())
    .addCommand(scenarioCommand())
    .addCommand(signCommand())
    .addCommand(verifyCommand())
    .addCommand(fixturesCommand())
    .addCommand(schemaCommand())
    .addCommand(doctorCommand());
  throwInsteadOfExit(program);
  return program;
}

/** Runs what the arguments say, and says with which code to exit. */
export async function run(args: readonly string[]): Promise<void> {
  interruptWithReader();
  try {
    await hookboxProgram().parseAsync(args, { from: 'user' });
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
  command.exitOverride().showHelpAfterError('(add --help for what it takes)');
  for (const each of command.commands) throwInsteadOfExit(each);
}
