import type { CreatedKey } from '../../sandbox/index.ts';
import { oneLine } from '../../printable.ts';
import { usageError, print, printJson, printNdjson, tell } from '../shared/output.ts';
import { givenSecret } from '../shared/secret.ts';
import { exitCodeOf } from '../shared/sending.ts';
import { lineWidth, table, texts } from '../shared/table.ts';
import { targetOf } from '../shared/options.ts';
import type { Retried, SentByHand } from './control/acts.ts';
import type { LISTS } from './control/address.ts';
import { checkedBodies } from '../trigger-body.ts';
import { steeringText } from './steering-text.ts';
import { steer } from './control/control-client.ts';
import { steerPatiently } from './control/steer-patiently.ts';
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
