import { isLoopback } from '../../host/loopback.ts';
import { table, texts, lineWidth } from '../shared/table.ts';
import { exitCodeOf } from '../shared/sending.ts';
import { checkedBodies } from '../trigger-body.ts';
import {
  withOwnModule,
  print,
  printJson,
  printNdjson,
  type ExitCode,
  CommandError,
  EXIT,
  usageError,
  tell,
} from '../shared/output.ts';
import { givenSecret, type SecretOptions } from '../shared/secret.ts';
import { targetOf, type WideOptions, withScheme } from '../shared/options.ts';
import type { CreatedKey } from '../../sandbox/index.ts';
import type { Retried, SentByHand, Act, Answer, UnderWay } from './control-server.ts';
import { steeringText, type LISTS, CONTROL_PATH, DEFAULT_AT } from './sandbox-address.ts';
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { clearTimeout, setTimeout } from '../../host/real-timers.ts';
import { oneLine } from '../../printable.ts';
import { connectionFailure } from '../shared/unreachable.ts';
import { seal, tokenOf, unseal } from './control-token.ts';

interface SteeringOptions {
  readonly at: string;
  readonly json?: boolean;
}

export async function advance(duration: string, options: SteeringOptions): Promise<void> {
  const result = await steerPatiently<{ readonly now: string }>(options.at, { act: 'advance', duration });
  printed(result, result.now, options);
}

export async function retry(ids: readonly number[], { at, json = false }: SteeringOptions): Promise<ExitCode> {
  let ok = 0;
  for (const delivery of ids) {
    const retried = await steerPatiently<Retried>(at, { act: 'retry', delivery });
    const { state, problem } = retried;
    if (problem === null) ok += 1;
    if (json) printNdjson(retried);
    else print(`${delivery} ${state ?? 'unknown'}${problem === null ? '' : `: ${problem}`}`);
  }
  return exitCodeOf({ ok, failed: ids.length - ok });
}

interface SendOptions extends SteeringOptions {
  readonly events?: string;
  readonly override?: readonly string[];
  readonly remove?: readonly string[];
}

export async function send(source: string, options: SendOptions): Promise<void> {
  await withOwnModule(options.events, () => sendByHand(source, options));
}

async function sendByHand(source: string, options: SendOptions): Promise<void> {
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
  const sent = await steer<SentByHand>(options.at, { act: 'send', type, data: { ...data } });
  printed(sent, `${sent.event} ${oneLine(sent.type)}`, options);
  if (sent.deliveries === 0)
    tell('note: no endpoint is registered for events of this type, so the sandbox delivers nothing.');
  if (sent.waits)
    tell(`note: the clock of the sandbox is frozen. To deliver the event: ${steeringText(options.at, 'advance', '0')}`);
}

export async function fault(
  text: string | undefined,
  options: SteeringOptions & { readonly clear?: boolean },
): Promise<void> {
  if (options.clear === true) await steer(options.at, { act: 'clear-faults' });
  const act: Act = text === undefined ? { act: 'list', what: 'faults' } : { act: 'fault', fault: text };
  printList(await steer<Rows>(options.at, act), { ...options, wide: true });
}

export async function move(order: string, to: string, options: SteeringOptions): Promise<void> {
  printed(await steer(options.at, { act: 'move', order, to }), `${order} ${to}`, options);
}

interface WebhookOptions extends SteeringOptions, SecretOptions {
  readonly unsigned?: boolean;
  readonly remove?: boolean;
}

export async function webhook(text: string, options: WebhookOptions): Promise<void> {
  const { at, unsigned = false, remove = false, json = false } = options;
  const url = targetOf(text, true).href; // the sandbox knows whether it may send elsewhere
  if (remove) {
    await steer(at, { act: 'unhook', url });
    tell(`The sandbox no longer sends webhooks to ${url}.`);
    return;
  }
  const secret = unsigned ? null : givenSecret(options);
  const done = await steer<{ readonly madeSecret: string | null }>(at, { act: 'webhook', url, secret, unsigned });
  if (json) {
    printJson(done);
    return;
  }
  const how = unsigned ? ', unsigned' : done.madeSecret === null ? ', signed with your secret' : '';
  tell(`Webhooks go to ${url}${how}.`);
  if (done.madeSecret === null) return;
  tell('The sandbox signs webhooks with this secret and shows it only once:');
  print(done.madeSecret);
}

export async function key(options: SteeringOptions & { readonly permission?: readonly string[] }): Promise<void> {
  const made = await steer<CreatedKey>(options.at, { act: 'key', permissions: [...(options.permission ?? [])] });
  printed(made, made.key, options);
}

export async function list(what: (typeof LISTS)[number], options: SteeringOptions & WideOptions): Promise<void> {
  printList(await steer<Rows>(options.at, { act: 'list', what }), options);
}

function printed(result: unknown, text: string, { json = false }: SteeringOptions): void {
  if (json) printJson(result);
  else print(text);
}

type Rows = readonly Readonly<Record<string, unknown>>[];

function printList(rows: Rows, { json = false, ...wide }: SteeringOptions & WideOptions): void {
  if (json) for (const row of rows) printNdjson(row);
  else if (rows.length === 0) tell('No objects yet.');
  else {
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

/** No time limit: a clock that advances by days may wait for many deliveries. */
async function steer<Result>(at: string, act: Act): Promise<Result> {
  const answer = await post(addressOf(at), JSON.stringify(act));
  const { status, result, message = `The sandbox returned ${status}.` } = answer;
  if (status === 200) return result as Result; // as control-server.ts answers
  throw new CommandError(message, status === 404 ? EXIT.notFound : status === 422 ? EXIT.usage : EXIT.failed);
}

const LOOK_EVERY_MS = 1_000;

/** Sends a control request, and names the receiver that it waits for, once for each slow try. */
async function steerPatiently<Result>(at: string, act: Act): Promise<Result> {
  const reported = new Set<string>();
  let before: ReadonlySet<string> = new Set();
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    // If the sandbox does not answer, the request itself fails.
    const waiting = await steer<readonly UnderWay[]>(at, { act: 'under-way' }).catch(() => []);
    if (isOver) return;
    const keyed = new Map(waiting.map((one) => [`${one.delivery}/${one.number}`, one]));
    for (const [key, { url, type, event, number }] of keyed) {
      if (!before.has(key) || reported.has(key)) continue;
      reported.add(key);
      const whom = url ?? 'a receiver in code';
      tell(
        `Waiting for ${whom} to answer ${oneLine(type)} ${event} (attempt ${number}). An attempt fails after 10 s without an answer.`,
      );
    }
    before = new Set(keyed.keys());
    timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  }

  timer = setTimeout(() => void look(), LOOK_EVERY_MS);
  try {
    return await steer<Result>(at, act);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

function addressOf(at: string): URL {
  const whole = withScheme(at);
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url?.protocol === 'http:' && isLoopback(url.hostname)) return url;
  throw usageError(
    `--at ${JSON.stringify(at)} is not a sandbox on this machine. Use http://127.0.0.1 with the port of the sandbox, such as ${DEFAULT_AT}.`,
  );
}

async function post({ origin, hostname, port }: URL, act: string): Promise<Answer> {
  const token = tokenOf(Number(port || 80));
  if (token === null) {
    const message = `You have no running sandbox at ${origin}. Start one with hookbox sandbox, or pass the address of a running sandbox with --at.`;
    throw new CommandError(message, EXIT.notFound);
  }
  const sent = seal(token, act);
  const outgoing = request({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 80),
    method: 'POST',
    path: CONTROL_PATH,
    agent: false,
    headers: { Origin: origin, 'Content-Type': 'text/plain', 'Content-Length': sent.length },
  });
  outgoing.end(sent);
  const opened = unseal(token, await answerOf(outgoing, origin), sent);
  if (opened === null) {
    throw new CommandError(
      `The program at ${origin} could not read the command, so it is not the sandbox that you started there. Restart the sandbox.`,
    );
  }
  return JSON.parse(opened) as Answer;
}

async function answerOf(outgoing: ClientRequest, origin: string): Promise<string> {
  try {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    return await text(response);
  } catch (failure) {
    const why = connectionFailure(failure);
    throw new CommandError(`The sandbox at ${origin} does not answer: ${why}. Check that it is running.`);
  }
}
