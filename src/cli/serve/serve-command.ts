import { InvalidArgumentError, Option, type Command } from 'commander';
import { command } from '../shared/command.ts';
import { withDb, type DbOptions } from '../shared/db-option.ts';
import { endProcess } from '../shared/end-process.ts';
import { EXIT, usageError } from '../shared/exit.ts';
import { tellFailure } from '../shared/tell-failure.ts';
import type { StopSignal } from '../shared/interruption.ts';
import { withReceiverPort } from '../shared/port-option.ts';
import { givenSecret, secretOf, withSecret, type SecretOptions } from '../shared/secret-option.ts';
import { outputs, type Output } from './outputs.ts';

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
  const made = withDb(
    command('serve', 'receive deliveries, store them, and run your handlers', [
      'hookbox serve',
      'hookbox serve handlers.ts --port 4000',
      'hookbox serve handlers.ts --watch --env-file .env',
      'hookbox serve --forward-to http://localhost:8080/webhooks',
      'hookbox serve handlers.mjs --output ndjson | jq .outcome',
    ]),
    'the inbox, made if missing',
  ).argument(
    '[handlers]',
    'a module (.js, .mjs, .ts) with handlers by type as its default export or as `handlers`, and schemas of types of your own as `events`',
  );
  const serve = withReceiverPort(made, 'listen on this port; 0 takes a free one')
    .option('--host <address>', 'listen on this address', '127.0.0.1')
    .option('--path <path>', 'the path of the webhook', absolutePath, '/webhooks')
    .option('--unsafe-unsigned', 'take unsigned deliveries (an account without a signing secret)')
    .option('--forward-to <url>', 'send accepted deliveries on, after the answer')
    .option('--allow-remote', 'forward to other machines, too')
    .option('--watch', 'start again when your handlers, or what they import, have changed')
    .addOption(new Option('--watched', 'for the process that --watch starts').hideHelp())
    .addOption(new Option('--output <how>', 'how to print; interactive, or compact in a pipe').choices(outputs))
    .option('-v, --verbose', 'print the stack of what handlers throw');
  return withSecret(serve)
    .addHelpText(
      'after',
      "\nSuch a module: export default { 'order.created': (event) => console.log('a new order:', event.data.id) };\n" +
        'Forwarding keeps the bytes, X-Signature and Content-Type. Its result does not change the answer, and what another\n' +
        'serve forwarded is not forwarded again. What handlers print goes to standard error. inbox.attempts() has the stack\n' +
        'of each error. Ctrl-C finishes what is under way; a second Ctrl-C does not wait.',
    )
    .action(run);
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
  if (file === undefined) throw usageError('--watch is for handlers. Give the module that has them.');
  // Asked for once, and not at each start.
  const isAsked = options.unsafeUnsigned !== true && givenSecret(options) === null;
  if (isAsked) process.env['SIGNING_SECRET'] = await secretOf(options);
  const { watchServe } = await import('./watch/watch-serve.ts');
  const args = process.argv.slice(2).map((arg) => (arg === '--watch' ? '--watched' : arg));
  return watchServe(file, args);
}

async function served(file: string | undefined, options: ServeCommandOptions): Promise<StopSignal> {
  const { unsafeUnsigned = false, forwardTo, allowRemote = false, verbose = false } = options;
  const [{ serve }, { loadHandlers }, { targetOf }] = await Promise.all([
    import('./run-server.ts'),
    import('./load-handlers.ts'),
    import('../shared/target-url.ts'),
  ]);
  if (options.watched === true) (await import('./watch/under-watch.ts')).underWatch();
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
  throw new InvalidArgumentError('Give a path that begins with /.');
}
