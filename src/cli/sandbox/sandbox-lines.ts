import type { Delivery, DeliveryTry, Sandbox } from '../../sandbox/index.ts';
import { unbrokenCurlLine, PLACE_ORDER } from '../../sandbox/openapi/example-requests.ts';
import { print, printNdjson, styled, tell } from '../shared/output.ts';
import type { Registered } from './control-server.ts';
import { DASHBOARD, steeringText } from './sandbox-address.ts';

interface Start {
  readonly base: string;
  readonly db?: string;
  readonly seed?: number;
  readonly clock: 'real' | 'frozen';
  readonly json?: boolean;
  readonly isReopened: boolean;
  readonly registered: Registered | null;
}

const MOST = 1_000;

export function tellStart(sandbox: Sandbox, start: Start): void {
  const { base, clock, json = false, registered } = start;
  const apiKey = sandbox.keys.find(sandbox.apiKey) === null ? null : sandbox.apiKey;
  if (json) {
    const { endpoint, madeSecret: secret = null } = registered ?? { endpoint: null };
    printNdjson({ kind: 'started', at: sandbox.now(), base, apiKey, endpoint, secret, page: base + DASHBOARD });
  }
  tell(
    `The sandbox runs at ${base}, with its dashboard at ${base}${DASHBOARD} (open to every user of this machine)`,
    `Operations, each with a curl command: ${base}/interface`,
    stateLines(sandbox, start),
    clock === 'real'
      ? []
      : `The clock is frozen at ${sandbox.now().toISOString()}. To advance it and send webhooks: ${steeringText(base, 'advance', '30 min')}`,
  );
  if (!json && apiKey === null)
    tell(`The first API key no longer works. To create another: ${steeringText(base, 'key')}`);
  if (!json && apiKey !== null) {
    tell(`API key: ${apiKey} (send it in the Authorization header, without a word such as Bearer)`);
    if (sandbox.orders.list(1).length === 0)
      tell(`No orders yet. To place one: ${unbrokenCurlLine(base, PLACE_ORDER, apiKey)}`);
  }
  tell(endpointLines(sandbox, start));
}

function stateLines(sandbox: Sandbox, { db, seed, isReopened }: Start): readonly string[] {
  if (db === undefined)
    return ['The state is in memory and is lost when the sandbox stops. To keep it, use --db FILE.'];
  if (!isReopened) return [`The state is in ${db}.`];
  const counts = [
    counted(sandbox.keys.list().length, 'API key'),
    counted(sandbox.webhooks.list().length, 'endpoint'),
    counted(sandbox.orders.list(MOST).length, 'order'),
    counted(waiting(sandbox), 'waiting delivery', 'waiting deliveries'),
  ];
  const kept = seed === undefined ? [] : [`note: --seed has no effect, because ${db} keeps its first seed.`];
  return [`The sandbox continues from ${db}: ${counts.join(', ')}.`, ...kept];
}

function endpointLines(sandbox: Sandbox, { base, registered, json = false }: Start): readonly string[] {
  const endpoints = sandbox.webhooks.list();
  if (endpoints.length === 0) {
    const add = steeringText(base, 'webhook', 'http://localhost:3000/webhooks');
    return [`No endpoint is registered, so the sandbox sends no webhooks. To add one: ${add}`];
  }
  return endpoints.map(({ id, url, isSigned }) => {
    const where = `Webhooks go to ${url ?? 'a receiver in code, which is not in this process'}`;
    const { madeSecret: made = null, isSecretGiven = false } = id === registered?.endpoint.id ? registered : {};
    if (!isSigned) return `${where}, unsigned.`;
    if (isSecretGiven) return `${where}, signed with your secret.`;
    if (made !== null) return json ? `${where}.` : `${where}, signed with the secret ${made}`;
    const renew = url === null ? '' : ` To set a new one: ${steeringText(base, 'webhook', url)}`;
    return `${where}, signed with a secret that the sandbox showed earlier.${renew}`;
  });
}

export function tellLeft(sandbox: Sandbox, db: string | undefined): void {
  const left = waiting(sandbox);
  if (left === 0) return;
  const what = `${counted(left, 'delivery', 'deliveries')} ${left === 1 ? 'is' : 'are'} pending`;
  tell(
    db === undefined
      ? `${what} and will be lost. To keep deliveries, use --db FILE.`
      : `${what}. To continue, start the sandbox with --db ${db} again.`,
  );
}

function waiting(sandbox: Sandbox): number {
  return sandbox.deliveries.list({ state: 'waiting', limit: MOST }).length;
}

/** With plain digits, because loading `plural` takes longer than the rest of the start. */
function counted(count: number, one: string, many = `${one}s`): string {
  return `${count}${count === MOST ? '+' : ''} ${count === 1 ? one : many}`;
}

interface TryPrinting {
  readonly json: boolean;
  readonly base: string;
}

export function printTry(sandbox: Sandbox, id: number, { json, base }: TryPrinting): void {
  const [delivery] = sandbox.deliveries.list({ before: id + 1, limit: 1 });
  const tried = sandbox.deliveries.tries(id).at(-1);
  if (delivery === undefined || tried === undefined) return;
  const { event, endpoint, state, nextAt } = delivery;
  const endpoints = sandbox.webhooks.list();
  const url = endpoints.find((one) => one.id === endpoint)?.url ?? null;
  if (json) {
    const { id: eventId, type } = event;
    printNdjson({ kind: 'delivery', delivery: id, event: eventId, type, endpoint, url, ...tried, state, nextAt });
    return;
  }
  const word = tried.why === null ? 'delivered' : state === 'dead' ? 'dead' : 'failed';
  const parts = [
    styled('dim', tried.at.toISOString()),
    styled(tried.why === null ? 'green' : 'red', `${tried.status ?? '---'} ${word}`.padEnd(13)),
    event.type.padEnd(22),
    event.id,
    ...(endpoints.length > 1 && url !== null ? [url] : []),
    detailsOf(delivery, tried, base),
  ];
  print(parts.filter((part) => part !== '').join('  '));
}

function detailsOf({ id, state, nextAt }: Delivery, { number, status, why, note, fault }: DeliveryTry, base: string) {
  const next = nextAt === null ? '' : `, again at ${nextAt.toISOString()}`;
  const details = [
    `try ${number}${why === null ? '' : `: ${why}`}${next}`,
    status === 401 && fault === null ? 'check that the receiver uses the same secret' : null,
    note,
    fault === null ? null : `injected fault: ${fault}`,
    state === 'dead' ? `to retry: ${steeringText(base, 'retry', String(id))}` : null,
  ];
  return `(${details.filter((detail) => detail !== null).join('; ')})`;
}
