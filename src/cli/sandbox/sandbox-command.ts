import { Option, type Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { EXIT } from '../shared/exit.ts';
import { collected, wholeNumber } from '../shared/option-values.ts';
import { withSecret } from '../shared/secret-option.ts';
import { DEFAULT_PORT } from './control/address.ts';
import type { RunSandboxOptions } from './run-sandbox.ts';
import { steeringCommands } from './steering-commands.ts';

/** `hookbox sandbox`, and what steers one that runs. */
export function sandboxCommand(): Command {
  const sandbox = command('sandbox', 'run the whole service locally: operations, state, webhooks and page', [
    'hookbox sandbox --to http://localhost:3000/webhooks',
    'hookbox sandbox --to http://localhost:3000/webhooks --db shop.db',
    'hookbox sandbox --clock frozen --seed 7 --plan Free',
    'hookbox sandbox --assume confirmedAfterMs=5s --fault before,operation=createOrder,times=2',
    "hookbox sandbox advance '30 min'",
  ])
    .optionsGroup(GROUP.delivery)
    .option('--to <url>', 'register this endpoint for all events, unless it is registered')
    .option('--unsigned', 'send no X-Signature, as for an account without a secret')
    .option('--allow-remote', 'allow webhooks to other machines')
    .optionsGroup(GROUP.service)
    .option('--db <file>', 'keep the state in this file, created if missing (default: in memory)')
    .option('--fault <fault>', 'inject a fault; see hookbox sandbox fault --help (repeatable)', collected)
    .addOption(
      new Option('--clock <which>', 'a clock that runs, or one that you advance')
        .choices(['real', 'frozen'])
        .default('real'),
    )
    .option('--seed <n>', 'make the same ids, keys and secrets in each run', wholeNumber(0))
    .option('--plan <plan>', 'Free, Developer, Business, Enterprise, or limits such as perSecond=5,perMonth=100')
    .option('--assume <name=value>', 'set what the interface leaves open (repeatable)', collected)
    .optionsGroup(GROUP.server)
    .option('--port <n>', 'listen on this port; 0 takes a free one', wholeNumber(0, 65_535), DEFAULT_PORT)
    .option(
      '--host <address>',
      'listen on this address; with another one, other machines reach it by HTTP',
      '127.0.0.1',
    )
    .optionsGroup(GROUP.output)
    .option('--json', 'print the start and each delivery as JSON lines')
    .optionsGroup(GROUP.delivery);
  withNotes(
    withSecret(sandbox, 'read the signing secret from this file; otherwise from SIGNING_SECRET, or print a new one'),
    {
      notes: [
        'The sandbox prints a line for each try of a delivery. It prints the signing secret of a new endpoint once. ' +
          'docs/sandbox.md lists the assumptions and the behaviour that the interface leaves open.',
        'The subcommands control a sandbox of this user on this machine. Ctrl-C finishes running work; a second ' +
          'Ctrl-C does not wait.',
      ],
    },
  )
    .enablePositionalOptions()
    .action(async (options: RunSandboxOptions) => {
      const { runSandbox } = await import('./run-sandbox.ts');
      const signal = await runSandbox(options);
      process.exitCode = signal === 'SIGTERM' ? EXIT.ok : EXIT.interrupted;
    });
  for (const made of steeringCommands()) sandbox.addCommand(made);
  return sandbox;
}
