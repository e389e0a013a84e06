import { Option, type Command } from 'commander';
import { command } from '../shared/command.ts';
import { EXIT } from '../shared/exit.ts';
import { collected, wholeNumber } from '../shared/option-values.ts';
import { withSecret } from '../shared/secret-option.ts';
import { DEFAULT_PORT } from './control/address.ts';
import type { RunSandboxOptions } from './run-sandbox.ts';
import { steeringCommands } from './steering-commands.ts';

/** `hookbox sandbox`, and what steers one that runs. */
export function sandboxCommand(): Command {
  const sandbox = command('sandbox', 'run the whole service on this machine: operations, state, webhooks, page', [
    'hookbox sandbox --to http://localhost:3000/webhooks',
    'hookbox sandbox --to http://localhost:3000/webhooks --db shop.db',
    'hookbox sandbox --clock frozen --seed 7 --plan Free',
    'hookbox sandbox --assume confirmedAfterMs=5s --fault before,operation=createOrder,times=2',
    "hookbox sandbox advance '30 min'",
  ])
    .option('--to <url>', 'register this endpoint for all events, unless it is registered already')
    .option('--port <n>', 'listen on this port; 0 takes a free one', wholeNumber(0, 65_535), DEFAULT_PORT)
    .option('--host <address>', 'listen on this address; beyond loopback others reach it, with plain HTTP', '127.0.0.1')
    .option('--db <file>', 'keep its state in this file; created if missing, in memory unless given')
    .option('--seed <n>', 'make ids, keys and secrets that repeat themselves', wholeNumber(0))
    .addOption(
      new Option('--clock <which>', 'one that goes by itself, or one that stands still until it is advanced')
        .choices(['real', 'frozen'])
        .default('real'),
    )
    .option('--plan <plan>', 'Free, Developer, Business, Enterprise, or limits such as perSecond=5,perMonth=100')
    .option('--assume <name=value>', 'decide what the interface leaves open; may be repeated', collected)
    .option('--fault <fault>', 'have something go wrong (see hookbox sandbox fault --help); may be repeated', collected)
    .option('--unsigned', 'send no X-Signature (an account without a signing secret)')
    .option('--allow-remote', 'let webhooks go to other machines, too')
    .option('--json', 'print what it begins with and each delivery as a line of JSON');
  withSecret(sandbox, 'file with the signing secret; without it SIGNING_SECRET, or a new one that is printed')
    .addHelpText(
      'after',
      '\nIt prints a line for each try of a delivery. A new endpoint gets a signing secret, which is printed once. What may be\n' +
        'assumed, and what it does where the interface says nothing, is in docs/sandbox.md. The commands beneath it steer a\n' +
        'sandbox that this user runs on this machine. Ctrl-C finishes what is under way; a second Ctrl-C does not wait.',
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
