import { Argument, type Command } from 'commander';
import type { CreatedKey } from '../../sandbox/index.ts';
import { command, GROUP, withNotes, nameList } from '../shared/command.ts';
import { usageError, print, printJson, printNdjson, tell, withOwnModule } from '../shared/output.ts';
import { collected, wholeNumber, withWide, type WideOptions } from '../shared/options.ts';
import { givenSecret, withSecret, type SecretOptions } from '../shared/secret.ts';
import { oneLine } from '../../printable.ts';
import type { Act, Retried, SentByHand } from './control-server.ts';
import { DEFAULT_AT, LISTS, steeringText } from './sandbox-address.ts';

/** Which sandbox is meant, and how the answer is to read. */
interface SteeringOptions {
  readonly at: string;
  readonly json?: boolean;
}

/** A list of the sandbox, as JSON has it. */
type Rows = readonly Readonly<Record<string, unknown>>[];

/** The commands that steer a sandbox which runs: each sends one action to control-server.ts. */
export function steeringCommands(): readonly Command[] {
  return [advance(), retry(), send(), fault(), move(), webhook(), key(), list()];
}

async function steer<Result>({ at }: SteeringOptions, act: Act): Promise<Result> {
  const { steer } = await import('./steer.ts');
  return steer<Result>(at, act);
}

async function steerPatiently<Result>({ at }: SteeringOptions, act: Act): Promise<Result> {
  const { steerPatiently } = await import('./steer.ts');
  return steerPatiently<Result>(at, act);
}

function withSteering(made: Command): Command {
  return made
    .optionsGroup(GROUP.service)
    .option('--at <url>', 'the address of the sandbox', DEFAULT_AT)
    .optionsGroup(GROUP.output)
    .option('--json', 'print the result as JSON');
}

function printed(result: unknown, text: string, { json = false }: SteeringOptions): void {
  if (json) printJson(result);
  else print(text);
}

/** As a table of what they have in common, or a JSON document each. */
async function printList(rows: Rows, { json = false, ...wide }: SteeringOptions & WideOptions): Promise<void> {
  if (json) for (const row of rows) printNdjson(row);
  else if (rows.length === 0) tell('No objects yet.');
  else {
    const { lineWidth, table, texts } = await import('../shared/table.ts');
    const heads = Object.keys(rows[0] ?? {});
    const cells = rows.map((row) => heads.map((head) => cellOf(row[head])));
    table(heads.map(texts), cells, lineWidth(wide));
  }
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return value;
  if (typeof value === 'object') return Object.values(value).map(cellOf).join(' ');
  return JSON.stringify(value);
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
  return withSteering(made).action(async (duration: string, options: SteeringOptions) => {
    const result = await steerPatiently<{ readonly now: string }>(options, { act: 'advance', duration });
    printed(result, result.now, options);
  });
}

function retry(): Command {
  const number = wholeNumber(1);
  const made = command('retry', 'immediately retry dead letters, or failed deliveries that are waiting for a retry', [
    'hookbox sandbox retry 17',
    'hookbox sandbox list dead-letters --json | jq -r .id | xargs hookbox sandbox retry',
  ]).argument(
    '<deliveries...>',
    'the numbers of the deliveries, as the sandbox prints and lists them',
    (text: string, before: readonly number[] | undefined) => [...(before ?? []), number(text)],
  );
  return withNotes(withSteering(made), {
    exitCodes: { 0: 'all deliveries succeeded', 1: 'no delivery succeeded', 3: 'only some deliveries succeeded' },
  }).action(async (ids: readonly number[], options: SteeringOptions) => {
    const { exitCodeOf } = await import('../shared/sending.ts');
    let ok = 0;
    for (const delivery of ids) {
      const retried = await steerPatiently<Retried>(options, { act: 'retry', delivery });
      const { state, problem } = retried;
      if (problem === null) ok += 1;
      if (options.json === true) printNdjson(retried);
      else print(`${delivery} ${state ?? 'unknown'}${problem === null ? '' : `: ${problem}`}`);
    }
    process.exitCode = exitCodeOf({ ok, failed: ids.length - ok });
  });
}

interface SendOptions extends SteeringOptions {
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
        'does not fit your schema, the command warns you and still sends it.',
    ],
  }).action((event: string, options: SendOptions) => withOwnModule(options.events, () => sendByHand(event, options)));
}

async function sendByHand(source: string, options: SendOptions): Promise<void> {
  const { checkedBodies } = await import('../trigger-body.ts');
  const body = Buffer.from((await checkedBodies(source, options, options.events))()).toString();
  let event: unknown;
  try {
    event = JSON.parse(body);
  } catch {
    event = null;
  }
  const { type, data } = (event ?? {}) as { readonly type?: unknown; readonly data?: unknown };
  if (typeof type !== 'string' || typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw usageError('The event must have a type, and its data must be an object.');
  }
  const sent = await steer<SentByHand>(options, { act: 'send', type, data: { ...data } });
  printed(sent, `${sent.event} ${oneLine(sent.type)}`, options);
  if (sent.deliveries === 0)
    tell('note: no endpoint is registered for events of this type, so the sandbox delivers nothing.');
  if (sent.waits)
    tell(`note: the clock of the sandbox is frozen. To deliver the event: ${steeringText(options.at, 'advance', '0')}`);
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
  }).action(async (text: string | undefined, options: SteeringOptions & { readonly clear?: boolean }) => {
    if (options.clear === true) await steer(options, { act: 'clear-faults' });
    const act: Act = text === undefined ? { act: 'list', what: 'faults' } : { act: 'fault', fault: text };
    await printList(await steer<Rows>(options, act), { ...options, wide: true });
  });
}

function move(): Command {
  const made = command('move', 'change the status of an order', ['hookbox sandbox move ord_8sKq2mXkRz4VwYb2 cancelled'])
    .argument('<order>', 'the id of the order')
    .argument('<status>', 'confirmed, ready, completed, cancelled or failed');
  return withSteering(made).action(async (order: string, to: string, options: SteeringOptions) => {
    printed(await steer(options, { act: 'move', order, to }), `${order} ${to}`, options);
  });
}

interface WebhookOptions extends SteeringOptions, SecretOptions {
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
  return withSteering(withSecret(made, SECRET_OR_MADE)).action(async (text: string, options: WebhookOptions) => {
    const { unsigned = false, remove = false, json = false } = options;
    const { targetOf } = await import('../shared/options.ts');
    const url = targetOf(text, true).href; // the sandbox knows whether it may send elsewhere
    if (remove) {
      await steer(options, { act: 'unhook', url });
      tell(`The sandbox no longer sends webhooks to ${url}.`);
      return;
    }
    const secret = unsigned ? null : givenSecret(options);
    const act: Act = { act: 'webhook', url, secret, unsigned };
    const done = await steer<{ readonly madeSecret: string | null }>(options, act);
    if (json) {
      printJson(done);
      return;
    }
    const how = unsigned ? ', unsigned' : done.madeSecret === null ? ', signed with your secret' : '';
    tell(`Webhooks go to ${url}${how}.`);
    if (done.madeSecret === null) return;
    tell('The sandbox signs webhooks with this secret and shows it only once:');
    print(done.madeSecret);
  });
}

/** What --secret-file does where the sandbox can make a secret. */
export const SECRET_OR_MADE =
  'read the signing secret from this file instead of SIGNING_SECRET; without either, the sandbox creates a secret and prints it';

function key(): Command {
  const made = command('key', 'create an API key and print it once', [
    'hookbox sandbox key',
    'hookbox sandbox key --permission orders:write --permission carts:read',
  ])
    .optionsGroup('The key:')
    .option('--permission <name>', 'give the key this permission (repeatable; default: all permissions)', collected);
  return withSteering(made).action(async (options: SteeringOptions & { readonly permission?: readonly string[] }) => {
    const { permission = [] } = options;
    const made = await steer<CreatedKey>(options, { act: 'key', permissions: [...permission] });
    printed(made, made.key, options);
  });
}

function list(): Command {
  const made = command('list', 'list up to 100 objects in a running sandbox', [
    'hookbox sandbox list deliveries',
    'hookbox sandbox list orders --json | jq -r .id',
  ]).addArgument(new Argument('<what>', 'the objects to list').choices(LISTS));
  return withWide(withSteering(made)).action(
    async (what: (typeof LISTS)[number], options: SteeringOptions & WideOptions) =>
      printList(await steer<Rows>(options, { act: 'list', what }), options),
  );
}
