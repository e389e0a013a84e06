import { Argument, type Command } from 'commander';
import { command, GROUP, withNotes, nameList } from '../shared/command.ts';
import { withOwnModule } from '../shared/output.ts';
import { collected, wholeNumber, withWide, type WideOptions } from '../shared/options.ts';
import { withSecret, type SecretOptions } from '../shared/secret.ts';
import { DEFAULT_AT, LISTS } from './sandbox-address.ts';

/** Which sandbox is meant, and how the answer is to read. */
export interface SteeringOptions {
  readonly at: string;
  readonly json?: boolean;
}

/** The commands that steer a sandbox which runs: each is one action of control/acts.ts. */
export function steeringCommands(): readonly Command[] {
  return [advance(), retry(), send(), fault(), move(), webhook(), key(), list()];
}

function advance(): Command {
  const made = command('advance', 'advance the clock of a running sandbox and run the work that becomes due', [
    "hookbox sandbox advance '30 min'",
    'hookbox sandbox advance 2h --at http://127.0.0.1:4001',
    'hookbox sandbox advance 0',
  ]).argument(
    '<duration>',
    "how far to advance the clock, such as '30 min', 1h30m or 2d; 0 runs the work that is due now",
  );
  return withSteering(made).action(async (duration: string, options: SteeringOptions) =>
    (await acts()).advance(duration, options),
  );
}

function retry(): Command {
  const made = command('retry', 'immediately retry dead letters, or failed deliveries that are waiting for a retry', [
    'hookbox sandbox retry 17',
    'hookbox sandbox list dead-letters --json | jq -r .id | xargs hookbox sandbox retry',
  ]).argument(
    '<deliveries...>',
    'the numbers of the deliveries, as the sandbox prints and lists them',
    collectedNumbers,
  );
  return withNotes(withSteering(made), {
    exitCodes: { 0: 'all deliveries succeeded', 1: 'no delivery succeeded', 3: 'only some deliveries succeeded' },
  }).action(async (ids: readonly number[], options: SteeringOptions) => (await acts()).retry(ids, options));
}

/** What the arguments of `sandbox send` say. */
export interface SendOptions extends SteeringOptions {
  readonly events?: string;
  readonly override?: readonly string[];
  readonly remove?: readonly string[];
}

function send(): Command {
  const made = command('send', 'send an event that no operation creates, such as an event of your own type', [
    'hookbox sandbox send loyalty.earned --events events.mjs --override data.account=a --override data.points=5',
    'hookbox sandbox send order.created --override data.gift_note=hello',
    'hookbox sandbox send event.json',
  ])
    .argument('<event>', 'an event type, for a new event; or a file with the type and data (- for standard input)')
    .optionsGroup(GROUP.event)
    .option('--override <path=value>', 'set a value, given as JSON or text (repeatable)', collected)
    .option('--remove <path>', 'remove a value, after the overrides are applied (repeatable)', collected)
    .option('--events <module>', 'a module (.js, .mjs, .ts) that exports the schemas of your own types as `events`');
  return withNotes(withSteering(made), {
    notes: [
      'The sandbox sets the id and the time of the event, and signs it. It sends the event to every ' +
        'endpoint that is registered for all events or for this type, and retries failed deliveries as usual. Nothing else in the sandbox changes. If the event ' +
        'does ' +
        'not fit your schema, the command warns you and still sends it.',
    ],
  }).action(async (event: string, options: SendOptions) => {
    const { events } = options;
    await withOwnModule(events, async () => (await acts()).send(event, options));
  });
}

function fault(): Command {
  const made = command('fault', 'inject a fault', [
    'hookbox sandbox fault before,operation=createOrder,times=3',
    'hookbox sandbox fault slow,operation=listMerchants,ms=2000',
    'hookbox sandbox fault decline,outcome=insufficient_funds',
    'hookbox sandbox fault delivery:tampered-signature,times=2',
    'hookbox sandbox fault --clear',
  ])
    .argument(
      '[fault]',
      'the kind of fault, with operation=, times=, status=, ms= or outcome= if the kind takes such a setting',
    )
    .optionsGroup(GROUP.act)
    .option('--clear', 'remove all faults that have not occurred yet');
  return withNotes(withSteering(made), {
    notes: [
      'Without an argument, this command lists the faults that have not occurred yet.',
      nameList('Faults', {
        before: 'make an operation fail before it changes anything',
        after: 'make an operation fail after it has made its change',
        'lost-answer': 'carry out an operation, but send no response',
        slow: 'delay an operation',
        decline: 'decline the payment of an order',
        'fail-order': 'make an order fail',
        'delivery:…': 'late, burst, duplicate, tampered-body, tampered-signature, cut, slow-body, lost-answer',
      }),
      'docs/sandbox.md describes each fault and lists the operations.',
    ],
  }).action(async (text: string | undefined, options: SteeringOptions & { readonly clear?: boolean }) =>
    (await acts()).fault(text, options),
  );
}

function move(): Command {
  const made = command('move', 'change the status of an order', ['hookbox sandbox move ord_8sKq2mXkRz4VwYb2 cancelled'])
    .argument('<order>', 'the id of the order')
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
  const made = command('webhook', 'register an endpoint, replace its secret, or remove it', [
    'hookbox sandbox webhook http://localhost:3000/webhooks',
    'hookbox sandbox webhook http://localhost:3000/webhooks --remove',
  ])
    .argument('<url>', 'the address that receives webhooks')
    .optionsGroup('The endpoint:')
    .option('--unsigned', 'send no X-Signature, as for an account without a secret')
    .option('--remove', 'remove the endpoint and its pending deliveries');
  return withSteering(
    withSecret(
      made,
      'read the signing secret from this file instead of SIGNING_SECRET; without either, the sandbox creates a secret and prints it',
    ),
  ).action(async (url: string, options: WebhookOptions) => (await acts()).webhook(url, options));
}

/** What the arguments of `sandbox key` say. */
export interface KeyOptions extends SteeringOptions {
  readonly permission?: readonly string[];
}

function key(): Command {
  const made = command('key', 'create an API key and print it once', [
    'hookbox sandbox key',
    'hookbox sandbox key --permission orders:write --permission carts:read',
  ])
    .optionsGroup('The key:')
    .option('--permission <name>', 'give the key this permission (repeatable; default: all permissions)', collected);
  return withSteering(made).action(async (options: KeyOptions) => (await acts()).key(options));
}

/** What the arguments of `sandbox list` say. */
export type ListOptions = SteeringOptions & WideOptions;

function list(): Command {
  const made = command('list', 'list up to 100 objects in a running sandbox', [
    'hookbox sandbox list deliveries',
    'hookbox sandbox list orders --json | jq -r .id',
  ]).addArgument(new Argument('<what>', 'the objects to list').choices(LISTS));
  return withWide(withSteering(made)).action(async (what: (typeof LISTS)[number], options: ListOptions) =>
    (await acts()).list(what, options),
  );
}

function withSteering(made: Command): Command {
  return made
    .optionsGroup(GROUP.service)
    .option('--at <url>', 'the address of the sandbox', DEFAULT_AT)
    .optionsGroup(GROUP.output)
    .option('--json', 'print the result as JSON');
}

const number = wholeNumber(1);

function collectedNumbers(text: string, before: readonly number[] = []): readonly number[] {
  return [...before, number(text)];
}

const acts = () => import('./steer.ts');
