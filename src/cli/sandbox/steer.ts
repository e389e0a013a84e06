import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { clearTimeout, setTimeout } from '../../host/real-timers.ts';
import { oneLine } from '../../printable.ts';
import type { CreatedKey } from '../../sandbox/index.ts';
import { usageError, CommandError, EXIT, print, printJson, printNdjson, tell } from '../shared/output.ts';
import { givenSecret } from '../shared/secret.ts';
import { exitCodeOf } from '../shared/sending.ts';
import { lineWidth, table, texts } from '../shared/table.ts';
import { targetOf, isLoopback, withScheme } from '../shared/options.ts';
import { connectionFailure } from '../shared/unreachable.ts';
import { checkedBodies } from '../trigger-body.ts';
import type { Retried, SentByHand, Act, Answer, UnderWay } from './control-server.ts';
import { seal, unseal, tokenOf } from './control-token.ts';
import { type LISTS, steeringText, CONTROL_PATH, DEFAULT_AT } from './sandbox-address.ts';
import type { KeyOptions, ListOptions, SendOptions, SteeringOptions, WebhookOptions } from './steering-commands.ts';

/** What stands in a list, as JSON has it. */
type Listed = Readonly<Record<string, unknown>>;

/** `hookbox sandbox advance` */
export async function advance(duration: string, { at, json = false }: SteeringOptions): Promise<void> {
  const result = await steerPatiently<{ readonly now: string }>(at, { act: 'advance', duration });
  if (json) printJson(result);
  else print(result.now);
}

/** `hookbox sandbox retry` */
export async function retry(ids: readonly number[], { at, json = false }: SteeringOptions): Promise<void> {
  let ok = 0;
  for (const delivery of ids) {
    const retried = await steerPatiently<Retried>(at, { act: 'retry', delivery });
    const { state, problem } = retried;
    if (problem === null) ok += 1;
    if (json) printNdjson(retried);
    else print(`${delivery} ${state ?? 'unknown'}${problem === null ? '' : `: ${problem}`}`);
  }
  process.exitCode = exitCodeOf({ ok, failed: ids.length - ok });
}

/** `hookbox sandbox send` */
export async function send(source: string, options: SendOptions): Promise<void> {
  const { at, json = false, events } = options;
  const body = (await checkedBodies(source, options, events))();
  const { type, data } = (parsedOrNull(body) ?? {}) as { readonly type?: unknown; readonly data?: unknown };
  if (typeof type !== 'string' || typeof data !== 'object' || data === null || Array.isArray(data)) {
    throw usageError('The event must have a type, and its data must be an object.');
  }
  const sent = await steer<SentByHand>(at, { act: 'send', type, data: data as Readonly<Record<string, unknown>> });
  if (json) printJson(sent);
  else print(`${sent.event} ${oneLine(sent.type)}`);
  if (sent.deliveries === 0)
    tell('note: no endpoint is registered for events of this type, so the sandbox delivers nothing.');
  if (sent.waits)
    tell(`note: the clock of the sandbox is frozen. To deliver the event: ${steeringText(at, 'advance', '0')}`);
}

function parsedOrNull(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString()) as unknown;
  } catch {
    return null;
  }
}

/** `hookbox sandbox fault` */
export async function fault(
  text: string | undefined,
  { at, json = false, clear = false }: SteeringOptions & { readonly clear?: boolean },
): Promise<void> {
  if (clear) await steer(at, { act: 'clear-faults' });
  const faults =
    text === undefined
      ? await steer<readonly Listed[]>(at, { act: 'list', what: 'faults' })
      : await steer<readonly Listed[]>(at, { act: 'fault', fault: text });
  printList(faults, json);
}

/** `hookbox sandbox move` */
export async function move(order: string, to: string, { at, json = false }: SteeringOptions): Promise<void> {
  const moved = await steer<Listed>(at, { act: 'move', order, to });
  if (json) printJson(moved);
  else print(`${order} ${to}`);
}

/** `hookbox sandbox webhook` */
export async function webhook(text: string, options: WebhookOptions): Promise<void> {
  const { at, json = false, unsigned = false, remove = false } = options;
  const url = targetOf(text, true).href; // the sandbox knows whether it may send elsewhere
  if (remove) {
    await steer(at, { act: 'unhook', url });
    tell(`The sandbox no longer sends webhooks to ${url}.`);
    return;
  }
  const secret = unsigned ? null : givenSecret(options);
  const done = await steer<Listed & { readonly madeSecret: string | null }>(at, {
    act: 'webhook',
    url,
    secret,
    unsigned,
  });
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

/** `hookbox sandbox key` */
export async function key({ at, json = false, permission = [] }: KeyOptions): Promise<void> {
  const made = await steer<CreatedKey>(at, { act: 'key', permissions: [...permission] });
  if (json) printJson(made);
  else print(made.key);
}

/** `hookbox sandbox list` */
export async function list(what: (typeof LISTS)[number], options: ListOptions): Promise<void> {
  const { at, json = false } = options;
  printList(await steer<readonly Listed[]>(at, { act: 'list', what }), json, lineWidth(options));
}

/** As a table of what they have in common, or a JSON document each. */
function printList(rows: readonly Listed[], json: boolean, width?: number): void {
  if (json) for (const row of rows) printNdjson(row);
  else if (rows.length === 0) tell('No objects yet.');
  else {
    const heads = Object.keys(rows[0] ?? {});
    table(
      heads.map(texts),
      rows.map((row) => heads.map((head) => cellOf(row[head]))),
      width,
    );
  }
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return value;
  if (typeof value === 'object') return Object.values(value).map(cellOf).join(' ');
  return JSON.stringify(value);
}

/**
 * Sends an action to a sandbox of this user on this machine, and resolves with its result. It has no time limit: a
 * clock that moves by days may wait for many deliveries.
 *
 * @throws CommandError that says what to do
 */
export async function steer<Result>(at: string, act: Act): Promise<Result> {
  const {
    status,
    result,
    message = `The sandbox returned ${status}.`,
  } = await post(addressOf(at), JSON.stringify(act));
  if (status === 200) return result as Result; // as control-path.ts answers
  throw new CommandError(message, status === 404 ? EXIT.notFound : status === 422 ? EXIT.usage : EXIT.failed);
}

/** Another machine has no sandbox of this user. */
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
  const asked = request({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: Number(port || 80),
    method: 'POST',
    path: CONTROL_PATH,
    agent: false,
    headers: { Origin: origin, 'Content-Type': 'text/plain', 'Content-Length': sent.length },
  });
  asked.end(sent);
  const opened = unseal(token, await answerOf(asked, origin), sent);
  if (opened === null) {
    throw new CommandError(
      `The program at ${origin} could not read the command, so it is not the sandbox that you started there. Restart the sandbox.`,
    );
  }
  return JSON.parse(opened) as Answer;
}

async function answerOf(asked: ClientRequest, origin: string): Promise<string> {
  try {
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return await text(response);
  } catch (failure) {
    const why = connectionFailure(failure);
    throw new CommandError(`The sandbox at ${origin} does not answer: ${why}. Check that it is running.`);
  }
}

const LOOK_EVERY_MS = 1_000;

/**
 * Steers as `steer` does, for what waits for the answers of receivers: says for whom it waits, once for each try that
 * takes longer than a moment.
 *
 * @throws CommandError that says what to do
 */
export async function steerPatiently<Result>(at: string, act: Act): Promise<Result> {
  const told = new Set<string>();
  let before: ReadonlySet<string> = new Set();
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    // A sandbox that does not answer fails the action itself.
    const waiting = await steer<readonly UnderWay[]>(at, { act: 'under-way' }).catch(() => []);
    if (isOver) return;
    for (const one of waiting) {
      if (!before.has(keyOf(one)) || told.has(keyOf(one))) continue;
      told.add(keyOf(one));
      tell(waitText(one));
    }
    before = new Set(waiting.map(keyOf));
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

function keyOf({ delivery, number }: UnderWay): string {
  return `${delivery}/${number}`;
}

function waitText({ url, type, event, number }: UnderWay): string {
  const whom = url ?? 'a receiver in code';
  return `Waiting for ${whom} to answer ${oneLine(type)} ${event} (attempt ${number}). An attempt fails after 10 s without an answer.`;
}
