import { InvalidArgumentError, Option, type Command } from 'commander';
import { command, GROUP, withNotes } from '../shared/command.ts';
import { withDb, type DbOptions, withReceiverPort } from '../shared/options.ts';
import { endProcess, EXIT, usageError, tellFailure } from '../shared/output.ts';
import type { StopSignal } from '../shared/interruption.ts';
import { givenSecret, secretOf, withSecret, type SecretOptions } from '../shared/secret.ts';
import type { Output } from './serve-reports.ts';

interface ServeCommandOptions extends DbOptions, SecretOptions {
  readonly port: number;
  readonly host: string;
  readonly path: string;
  readonly unsafeUnsigned?: boolean;
  readonly forwardTo?: string;
  readonly allowRemote?: boolean;
  readonly output?: Output;
  readonly watch?: boolean;
  /** by the process that watches */
  readonly watched?: boolean;
  readonly verbose?: boolean;
}

/** `hookbox serve` */
export function serveCommand(): Command {
  const made = command('serve', 'receive deliveries, store them, and run your handlers', [
    'hookbox serve',
    'hookbox serve handlers.ts --port 4000',
    'hookbox serve handlers.ts --watch --env-file .env',
    'hookbox serve --forward-to http://localhost:8080/webhooks',
    'hookbox serve handlers.mjs --output ndjson | jq .outcome',
  ])
    .argument(
      '[handlers]',
      'a module (.js, .mjs, .ts) that exports your handlers keyed by event type (as its default export or as `handlers`) and the schemas of your own types (as `events`)',
    )
    .optionsGroup(GROUP.server);
  withReceiverPort(made, 'listen on this port; 0 selects a free port')
    .option('--watch', 'restart when the handler module or a file that it imports changes')
    .option('--forward-to <url>', 'forward accepted deliveries to this address after the response is sent')
    .option('--host <address>', 'listen on this address', '127.0.0.1')
    .option('--path <path>', 'the path of the webhook', absolutePath, '/webhooks')
    .option('--unsafe-unsigned', 'do not check signatures; use this only for an account without a secret')
    .option('--allow-remote', 'allow forwarding to other machines')
    .addOption(new Option('--watched', 'used by --watch for the process that it starts').hideHelp());
  withSecret(made)
    .optionsGroup(GROUP.output)
    .addOption(
      new Option(
        '--output <how>',
        'the format of the output (default: interactive in a terminal, compact in a pipe)',
      ).choices(['interactive', 'compact', 'ndjson'] satisfies readonly Output[]),
    )
    .option('-v, --verbose', 'print the stack traces of handler errors');
  return withNotes(withDb(made, 'the inbox, created if missing'), {
    notes: [
      'A handler module:',
      ['  export default {', "    'order.created': (event) => console.log('new order:', event.data.id),", '  };'],
      'A forwarded delivery keeps its body, X-Signature and Content-Type. A forwarding failure does not change the response to the sender. ' +
        'hookbox serve does not forward a delivery that another hookbox serve forwarded to it.',
      'Handler output goes to standard error. inbox.attempts() returns the stack of each error. On Ctrl-C, the command finishes the work in progress and exits; press Ctrl-C again to exit immediately.',
    ],
  }).action(run);
}

async function run(file: string | undefined, options: ServeCommandOptions): Promise<void> {
  try {
    const signal = await (options.watch === true ? watched : served)(file, options);
    process.exitCode = signal === 'SIGTERM' ? EXIT.ok : EXIT.interrupted;
  } catch (failure) {
    tellFailure(failure);
  }
  await endProcess();
}

async function watched(file: string | undefined, options: ServeCommandOptions): Promise<StopSignal> {
  if (file === undefined) throw usageError('--watch needs a handler module. Pass its path.');
  // Asked for once, and not at each start.
  const isAsked = options.unsafeUnsigned !== true && givenSecret(options) === null;
  if (isAsked) process.env['SIGNING_SECRET'] = await secretOf(options);
  const { watchServe } = await import('./watch-serve.ts');
  const args = process.argv.slice(2).map((arg) => (arg === '--watch' ? '--watched' : arg));
  return watchServe(file, args);
}

async function served(file: string | undefined, options: ServeCommandOptions): Promise<StopSignal> {
  const { unsafeUnsigned = false, forwardTo, allowRemote = false, verbose = false } = options;
  const [{ serve, loadHandlers }, { targetOf }] = await Promise.all([
    import('./run-server.ts'),
    import('../shared/options.ts'),
  ]);
  if (options.watched === true) (await import('./watch-serve.ts')).underWatch();
  const target = forwardTo === undefined ? undefined : targetOf(forwardTo, allowRemote);
  const loaded = file === undefined ? {} : await loadHandlers(file);
  const { port, host, path, db, schema } = options;
  return serve({
    port,
    portOption: '--port',
    host,
    path,
    db,
    ...(schema !== undefined && { schema }),
    secret: unsafeUnsigned ? null : await secretOf(options),
    output: options.output ?? (process.stdout.isTTY ? 'interactive' : 'compact'),
    verbose,
    ...loaded,
    ...(target && { forwardTo: target }),
  });
}

function absolutePath(text: string): string {
  if (/^\/[^?#\s]*$/.test(text)) return text;
  throw new InvalidArgumentError('Use a path that begins with /.');
}
