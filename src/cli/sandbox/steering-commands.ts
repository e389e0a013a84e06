import { Argument, type Command } from 'commander';
import { command } from '../shared/command.ts';
import { withOwnModule } from '../shared/with-own-module.ts';
import { collected, wholeNumber } from '../shared/option-values.ts';
import { withSecret, type SecretOptions } from '../shared/secret-option.ts';
import { withWide, type WideOptions } from '../shared/wide-option.ts';
import { DEFAULT_AT, LISTS } from './control/address.ts';

/** Which sandbox is meant, and how the answer is to read. */
export interface SteeringOptions {
  readonly at: string;
  readonly json?: boolean;
}

/** The commands that steer a sandbox which runs: each is one act of control/acts.ts. */
export function steeringCommands(): readonly Command[] {
  return [advance(), retry(), send(), fault(), move(), webhook(), key(), list()];
}

function advance(): Command {
  const made = command('advance', 'move the clock of a running sandbox, and do what falls due on the way', [
    "hookbox sandbox advance '30 min'",
    'hookbox sandbox advance 2h --at http://127.0.0.1:4001',
    'hookbox sandbox advance 0',
  ]).argument('<duration>', "how far, such as '30 min', 1h30m or 2d; 0 does what is due now");
  return withSteering(made).action(async (duration: string, options: SteeringOptions) =>
    (await acts()).advance(duration, options),
  );
}

function retry(): Command {
  const made = command('retry', 'try a dead letter, or what has failed and waits, once more', [
    'hookbox sandbox retry 17',
    'hookbox sandbox list dead-letters --json | jq -r .id | xargs hookbox sandbox retry',
  ]).argument('<deliveries...>', 'their numbers, as its lines and lists have them', collectedNumbers);
  return withSteering(made)
    .addHelpText('after', '\nExit codes: 0 all were delivered, 3 only some, 1 none.')
    .action(async (ids: readonly number[], options: SteeringOptions) => (await acts()).retry(ids, options));
}

/** What the arguments of `sandbox send` say. */
export interface SendOptions extends SteeringOptions {
  readonly events?: string;
  readonly override?: readonly string[];
  readonly remove?: readonly string[];
}

function send(): Command {
  const made = command('send', 'send an event that no operation makes, such as one of a type of your own', [
    'hookbox sandbox send loyalty.earned --events events.mjs --override data.account=a --override data.points=5',
    'hookbox sandbox send order.created --override data.gift_note=hello',
    'hookbox sandbox send event.json',
  ])
    .argument('<event>', 'a type, of which a new event is made; or a file, or - for standard input, with type and data')
    .option('--events <module>', 'a module (.js, .mjs, .ts) with the schemas of types of your own as `events`')
    .option('--override <path=value>', 'set a value (JSON, or else text); may be repeated', collected)
    .option('--remove <path>', 'remove a value after the overrides; may be repeated', collected);
  return withSteering(made)
    .addHelpText(
      'after',
      '\nIt goes to every endpoint that takes all events, or its type, signed and retried as any other. Its id and its time are\n' +
        'those of the sandbox, and nothing else changes by it. What does not fit your schema is said, and sent all the same.',
    )
    .action(async (event: string, options: SendOptions) => {
      const { events } = options;
      await withOwnModule(events, async () => (await acts()).send(event, options));
    });
}

function fault(): Command {
  const made = command('fault', 'have something go wrong on purpose', [
    'hookbox sandbox fault before,operation=createOrder,times=3',
    'hookbox sandbox fault slow,operation=listMerchants,ms=2000',
    'hookbox sandbox fault decline,outcome=insufficient_funds',
    'hookbox sandbox fault delivery:tampered-signature,times=2',
    'hookbox sandbox fault --clear',
  ])
    .argument('[fault]', 'its kind, with operation=, times=, status=, ms= or outcome= where it takes these')
    .option('--clear', 'take back all that have not happened yet');
  return withSteering(made)
    .addHelpText(
      'after',
      '\nOf operations: before (nothing has happened), after and lost-answer (it has), slow. Of orders: decline, fail-order.\n' +
        'Of deliveries: delivery:late, burst, duplicate, tampered-body, tampered-signature, cut, slow-body, lost-answer.\n' +
        'docs/sandbox.md says what each does, and lists the operations. Without an argument it lists those that wait.',
    )
    .action(async (text: string | undefined, options: SteeringOptions & { readonly clear?: boolean }) =>
      (await acts()).fault(text, options),
    );
}

function move(): Command {
  const made = command('move', 'move an order by hand', ['hookbox sandbox move ord_8sKq2mXkRz4VwYb2 cancelled'])
    .argument('<order>', 'its id')
    .argument('<status>', 'confirmed, ready, completed, cancelled or failed');
  return withSteering(made).action(async (order: string, to: string, options: SteeringOptions) =>
    (await acts()).move(order, to, options),
  );
}

/** What the arguments of `sandbox webhook` say. */
export interface WebhookOptions extends SteeringOptions, SecretOptions {
  readonly unsigned?: boolean;
  readonly remove?: boolean;
}

function webhook(): Command {
  const made = command('webhook', 'register an endpoint, give it another secret, or remove it', [
    'hookbox sandbox webhook http://localhost:3000/webhooks',
    'hookbox sandbox webhook http://localhost:3000/webhooks --remove',
  ])
    .argument('<url>', 'where webhooks are to go')
    .option('--unsigned', 'send no X-Signature (an account without a signing secret)')
    .option('--remove', 'remove it; what waits for it is dropped');
  return withSteering(
    withSecret(made, 'file with the signing secret; without it SIGNING_SECRET, or a new one that is printed'),
  ).action(async (url: string, options: WebhookOptions) => (await acts()).webhook(url, options));
}

/** What the arguments of `sandbox key` say. */
export interface KeyOptions extends SteeringOptions {
  readonly permission?: readonly string[];
}

function key(): Command {
  const made = command('key', 'make an API key, and print it: it is not told again', [
    'hookbox sandbox key',
    'hookbox sandbox key --permission orders:write --permission carts:read',
  ]).option('--permission <name>', 'what it may do; may be repeated, everything unless given', collected);
  return withSteering(made).action(async (options: KeyOptions) => (await acts()).key(options));
}

/** What the arguments of `sandbox list` say. */
export type ListOptions = SteeringOptions & WideOptions;

function list(): Command {
  const made = command('list', 'list what a running sandbox has, as far as 100 of it go', [
    'hookbox sandbox list deliveries',
    'hookbox sandbox list orders --json | jq -r .id',
  ]).addArgument(new Argument('<what>', 'what is listed').choices(LISTS));
  return withWide(withSteering(made)).action(async (what: (typeof LISTS)[number], options: ListOptions) =>
    (await acts()).list(what, options),
  );
}

function withSteering(made: Command): Command {
  return made
    .option('--at <url>', 'the address of the sandbox', DEFAULT_AT)
    .option('--json', 'print what came of it as JSON');
}

const number = wholeNumber(1);

function collectedNumbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, number(text)];
}

const acts = () => import('./steer.ts');
