import { Option, type Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { EXIT } from '../shared/output.ts';
import { collected, wholeNumber } from '../shared/options.ts';
import { withSecret } from '../shared/secret.ts';
import { DEFAULT_PORT } from './sandbox-address.ts';
import type { RunSandboxOptions } from './run-sandbox.ts';
import { SECRET_OR_MADE, steeringCommands } from './steering-commands.ts';

/** `hookbox sandbox`, and what steers one that runs. */
export function sandboxCommand(): Command {
  const sandbox = command('sandbox', 'simulate the service locally: operations, state, webhooks and dashboard', [
    'hookbox sandbox --to http://localhost:3000/webhooks',
    'hookbox sandbox --to http://localhost:3000/webhooks --db shop.db',
    'hookbox sandbox --clock frozen --seed 7 --plan Free',
    'hookbox sandbox --assume confirmedAfterMs=5s --fault before,operation=createOrder,times=2',
    "hookbox sandbox advance '30 min'",
  ])
    .optionsGroup(GROUP.delivery)
    .option('--to <url>', 'register this endpoint for all events, if it is not registered yet')
    .option('--unsigned', 'send no X-Signature, as for an account without a secret')
    .option('--allow-remote', 'allow webhooks to other machines')
    .optionsGroup(GROUP.service)
    .option('--db <file>', 'keep the state in this file, created if missing (default: in memory)')
    .option(
      '--fault <fault>',
      'inject a fault; "hookbox sandbox fault --help" lists the faults (repeatable)',
      collected,
    )
    .addOption(
      new Option('--clock <which>', 'use a real-time clock, or a frozen clock that you advance')
        .choices(['real', 'frozen'])
        .default('real'),
    )
    .option('--seed <n>', 'create the same ids, keys and secrets in every run with this seed', wholeNumber(0))
    .option(
      '--plan <plan>',
      'apply this plan: Free, Developer, Business, Enterprise, or limits such as perSecond=5,perMonth=100',
    )
    .option(
      '--assume <name=value>',
      'choose how the sandbox behaves where the interface defines nothing (repeatable)',
      collected,
    )
    .optionsGroup(GROUP.server)
    .option('--port <n>', 'listen on this port; 0 selects a free port', wholeNumber(0, 65_535), DEFAULT_PORT)
    .option(
      '--host <address>',
      'listen on this address; if it is not a loopback address, other machines can use the sandbox over HTTP',
      '127.0.0.1',
    )
    .optionsGroup(GROUP.output)
    .option('--json', 'print one line of JSON at startup and one for each delivery')
    .optionsGroup(GROUP.delivery);
  withNotes(withSecret(sandbox, SECRET_OR_MADE), {
    notes: [
      'The sandbox prints a line for each delivery attempt. It prints the signing secret of a new endpoint only once. ' +
        'docs/sandbox.md lists what the sandbox assumes where the interface leaves a choice.',
      'The subcommands control a sandbox that you run on this machine. On Ctrl-C, the command finishes the work in progress and exits; press Ctrl-C again to exit immediately.',
    ],
  })
    .enablePositionalOptions()
    .action(async (options: RunSandboxOptions) => {
      const { runSandbox } = await import('./run-sandbox.ts');
      const signal = await runSandbox(options);
      process.exitCode = signal === 'SIGTERM' ? EXIT.ok : EXIT.interrupted;
    });
  for (const made of steeringCommands()) sandbox.addCommand(made);
  return sandbox;
}
