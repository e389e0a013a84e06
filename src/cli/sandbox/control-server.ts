import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { ConfigurationError, messageOf } from '../../errors.ts';
import { createGuard, peerOf } from '../../page/safety/request-guard.ts';
import { ApiError } from '../../sandbox/errors.ts';
import { FAULT_KINDS } from '../../sandbox/faults.ts';
import type { Delivery, Endpoint, NewKey, OrderStatus, Sandbox, ServiceFault } from '../../sandbox/index.ts';
import { FAULT_KINDS as DELIVERY_FAULT_KINDS } from '../../sender/faults.ts';
import { CommandError, EXIT, usageError } from '../shared/output.ts';
import { seal, unseal } from './control-token.ts';
import { LISTS } from './sandbox-address.ts';

const MOST_BYTES = 100_000;
/** A sealed text begins with random bytes, so this many characters identify it. */
const MARK_CHARS = 16;

/**
 * Answers requests to `CONTROL_PATH`. The holder of the token controls the sandbox, only from this machine: not under
 * another name, through a proxy, or from a page of another site. The token seals requests and responses,
 * so the token itself is never sent. A request works once, so a recorded request cannot be repeated.
 */
export function controlPath(sandbox: Sandbox, token: string): (request: Request, env: unknown) => Promise<Response> {
  const guard = createGuard({}, true);
  const seen = new Set<string>();
  return async (request, env) => {
    if (guard(request, peerOf(env, request)) !== null)
      return refusal(403, 'A sandbox can be controlled only from the machine it runs on.');
    if (request.method !== 'POST') return refusal(405, 'Send control requests with POST.');
    const length = request.headers.get('content-length');
    if (length === null || Number(length) > MOST_BYTES) return refusal(413, `Send at most ${MOST_BYTES} bytes.`);
    const sealed = await request.text();
    const text = unseal(token, sealed);
    const mark = sealed.slice(0, MARK_CHARS);
    if (text === null || seen.has(mark)) return refusal(401, 'Only the user who started this sandbox can control it.');
    seen.add(mark);
    const answer = await answerTo(sandbox, text);
    return new Response(seal(token, JSON.stringify(answer), sealed), { status: answer.status });
  };
}

function refusal(status: number, message: string): Response {
  return Response.json({ message }, { status });
}

export type Answer = Awaited<ReturnType<typeof answerTo>>;

async function answerTo(
  sandbox: Sandbox,
  text: string,
): Promise<{ readonly status: number; readonly result?: unknown; readonly message?: string }> {
  const parsed = actSchema.safeParse(jsonOrNull(text));
  if (!parsed.success) {
    return {
      status: 422,
      message: 'The sandbox does not support this command, because it runs a different version of hookbox.',
    };
  }
  try {
    return { status: 200, result: await perform(sandbox, parsed.data) };
  } catch (failure) {
    return { status: statusOf(failure), message: messageOf(failure) };
  }
}

function statusOf(failure: unknown): number {
  if (failure instanceof ConfigurationError) return 422;
  if (failure instanceof ApiError) return failure.status;
  if (!(failure instanceof CommandError)) return 500;
  return { [EXIT.usage as number]: 422, [EXIT.notFound as number]: 404 }[failure.exitCode] ?? 409;
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const actSchema = z.discriminatedUnion('act', [
  z.strictObject({ act: z.literal('advance'), duration: z.string() }),
  z.strictObject({ act: z.literal('retry'), delivery: z.int() }),
  z.strictObject({ act: z.literal('fault'), fault: z.string() }),
  z.strictObject({ act: z.literal('clear-faults') }),
  z.strictObject({ act: z.literal('move'), order: z.string(), to: z.string() }),
  z.strictObject({
    act: z.literal('webhook'),
    url: z.string(),
    secret: z.string().nullable(),
    unsigned: z.boolean(),
  }),
  z.strictObject({ act: z.literal('unhook'), url: z.string() }),
  z.strictObject({ act: z.literal('key'), permissions: z.array(z.string()) }),
  z.strictObject({ act: z.literal('send'), type: z.string(), data: z.record(z.string(), z.unknown()) }),
  z.strictObject({ act: z.literal('under-way') }),
  z.strictObject({ act: z.literal('list'), what: z.enum(LISTS) }),
]);

export type Act = z.infer<typeof actSchema>;

async function perform(sandbox: Sandbox, act: Act): Promise<unknown> {
  const { webhooks, faults } = sandbox;
  switch (act.act) {
    case 'advance':
      await sandbox.advance(act.duration);
      return { now: sandbox.now() };
    case 'retry':
      return retry(sandbox, act.delivery);
    case 'fault':
      addFault(sandbox, act.fault);
      return listed.faults(sandbox);
    case 'clear-faults':
      faults.remove();
      faults.removeFromDeliveries();
      return [];
    case 'move':
      sandbox.orders.move(act.order, act.to as OrderStatus); // which checks it
      return { order: act.order, status: act.to };
    case 'webhook':
      return registerEndpoint(sandbox, new URL(act.url), act, { renew: true });
    case 'unhook': {
      // The dashboard registers an address again on each request.
      const known = webhooks.list().filter(({ url }) => url === act.url);
      if (known.length === 0) throw new CommandError(`The sandbox has no endpoint ${act.url}.`, EXIT.notFound);
      return known.map(({ id }) => webhooks.remove(id));
    }
    case 'key':
      return sandbox.keys.create(act.permissions.length === 0 ? {} : (act as NewKey)); // which checks them
    case 'send':
      return sendByHand(sandbox, act.type, act.data);
    case 'under-way':
      return underWay(sandbox);
    case 'list':
      return listed[act.what](sandbox);
    default:
      return act satisfies never;
  }
}

export type SentByHand = ReturnType<typeof sendByHand>;

function sendByHand({ deliveries, events, clock }: Sandbox, type: string, data: Readonly<Record<string, unknown>>) {
  const lastId = (): number => deliveries.list({ limit: 1 })[0]?.id ?? 0;
  const before = lastId();
  const event = events.send({ type, data });
  const count = lastId() - before;
  return { event, type, deliveries: count, waits: clock.kind === 'frozen' && count > 0 };
}

export type UnderWay = ReturnType<typeof underWay>[number];

function underWay({ deliveries, webhooks }: Sandbox) {
  const urls = new Map(webhooks.list().map(({ id, url }) => [id, url]));
  return deliveries.underWay().map(({ id, tries, event, endpoint }) => ({
    delivery: id,
    number: tries + 1,
    event: event.id,
    type: event.type,
    url: urls.get(endpoint) ?? null,
  }));
}

export type Retried = Awaited<ReturnType<typeof retry>>;

/** Waits for the response. With a frozen clock, runs the work that is due now. */
async function retry({ deliveries, advance }: Sandbox, delivery: number) {
  const stateNow = (): Delivery['state'] | null =>
    deliveries.list({ before: delivery + 1, limit: 1 }).find(({ id }) => id === delivery)?.state ?? null;
  const state = stateNow();
  if (state === null) return { delivery, state, problem: 'the delivery does not exist' };
  if (!deliveries.retry(delivery)) return { delivery, state, problem: 'only failed deliveries can be retried' };
  await advance(0);
  return { delivery, state: stateNow(), problem: deliveries.tries(delivery).at(-1)?.why ?? null };
}

const listed: Readonly<Record<(typeof LISTS)[number], (sandbox: Sandbox) => readonly unknown[]>> = {
  deliveries: ({ deliveries }) => deliveries.list(),
  'dead-letters': ({ deliveries }) => deliveries.list({ state: 'dead' }),
  orders: ({ orders }) => orders.list(),
  webhooks: ({ webhooks }) => webhooks.list(),
  keys: ({ keys }) => keys.list(),
  faults: ({ faults }) => [
    ...faults.list(),
    ...faults.ofDeliveries().map((fault) => ({ ...fault, kind: OF_DELIVERIES + fault.kind })),
  ],
  stock: ({ stock }) => stock.list(),
};

/** Precedes the kind of a delivery fault, because `lost-answer` is also a fault of operations. */
const OF_DELIVERIES = 'delivery:';

export function addFault({ faults }: Sandbox, text: string): void {
  const [kind = '', ...settings] = text.split(',').map((part) => part.trim());
  const fault = Object.fromEntries(settings.map((setting) => readSetting(setting, text)));
  if (!kind.startsWith(OF_DELIVERIES)) {
    const kinds = [...FAULT_KINDS, ...DELIVERY_FAULT_KINDS.map((each) => OF_DELIVERIES + each)];
    if (!kinds.includes(kind)) throw usageError(`fault: kind must be one of ${kinds.join(', ')}.`);
    faults.add({ ...fault, kind } as ServiceFault); // which checks it
    return;
  }
  const { times = 1, ...others } = fault;
  if (!Number.isSafeInteger(times) || Number(times) < 1 || Object.keys(others).length > 0) {
    throw usageError(`${JSON.stringify(text)}: a delivery fault takes only times=n, with n above 0.`);
  }
  const ofDeliveries = kind.slice(OF_DELIVERIES.length) as Parameters<typeof faults.addToDeliveries>[0]; // which checks it
  faults.addToDeliveries(ofDeliveries, Number(times));
}

function readSetting(setting: string, text: string): readonly [name: string, value: string | number] {
  const [, name, value] = /^(\w+)=(.+)$/.exec(setting) ?? [];
  if (name === undefined || value === undefined) {
    throw usageError(
      `${JSON.stringify(text)} is not a fault. Use a kind and settings, such as before,operation=createOrder.`,
    );
  }
  return [name, /^\d+$/.test(value) ? Number(value) : value];
}

export type Registered = ReturnType<typeof registerEndpoint>;

/**
 * Registers an address for all events, unless it is registered already.
 *
 * @param secret - `null` creates a secret, if the endpoint needs one
 * @param renew - whether a registered endpoint gets a new secret if none is given
 * @param seed - creates the same secret in each run
 */
export function registerEndpoint(
  { webhooks }: Sandbox,
  url: URL,
  { secret: given, unsigned }: { readonly secret: string | null; readonly unsigned: boolean },
  { renew = false, seed }: { readonly renew?: boolean; readonly seed?: number | undefined } = {},
) {
  const known = webhooks.list().find((endpoint) => endpoint.url === url.href);
  const isSecretGiven = given !== null && !unsigned;
  const madeSecret = unsigned || isSecretGiven || (known !== undefined && !renew) ? null : newSecret(seed);
  const secret = isSecretGiven ? given : madeSecret;
  let id = known?.id;
  if (id === undefined) id = webhooks.add({ url: url.href, secret, events: null });
  else if (secret !== null || unsigned) webhooks.change(id, { secret });
  const endpoint = webhooks.list().find((one) => one.id === id) as Endpoint; // it is registered now
  return { endpoint, isNew: known === undefined, madeSecret, isSecretGiven };
}

function newSecret(seed: number | undefined): string {
  const seeded = (): Buffer => createHash('sha256').update(`${seed}/signing-secret`).digest().subarray(0, 24);
  return `whsec_${(seed === undefined ? randomBytes(24) : seeded()).toString('base64url')}`;
}
