import type { Delivery, DeliveryTry, Sandbox } from '../../sandbox/index.ts';
import { print, printNdjson, styled } from '../shared/output.ts';
import { steeringText } from './steering-text.ts';

/** How tries are printed, and where the sandbox is that makes them. */
export interface TryPrinting {
  readonly json: boolean;
  readonly base: string;
}

/** Prints the last try of a delivery: a line for people, or a JSON document. Times are those of the sandbox. */
export function printTry(sandbox: Sandbox, id: number, { json, base }: TryPrinting): void {
  const [delivery] = sandbox.deliveries.list({ before: id + 1, limit: 1 });
  const tried = sandbox.deliveries.tries(id).at(-1);
  if (delivery === undefined || tried === undefined) return;
  const endpoints = sandbox.webhooks.list();
  const url = endpoints.find((endpoint) => endpoint.id === delivery.endpoint)?.url ?? null;
  if (json) {
    const { event, endpoint, state, nextAt } = delivery;
    printNdjson({
      kind: 'delivery',
      delivery: id,
      event: event.id,
      type: event.type,
      endpoint,
      url,
      ...tried,
      state,
      nextAt,
    });
    return;
  }
  const parts = [
    styled('dim', tried.at.toISOString()),
    styled(tried.why === null ? 'green' : 'red', `${tried.status ?? '---'} ${wordOf(delivery, tried)}`.padEnd(13)),
    delivery.event.type.padEnd(22),
    delivery.event.id,
    ...(endpoints.length > 1 && url !== null ? [url] : []),
    detailsOf(delivery, tried, base),
  ];
  print(parts.filter((part) => part !== '').join('  '));
}

function wordOf({ state }: Delivery, { why }: DeliveryTry): string {
  if (why === null) return 'delivered';
  return state === 'dead' ? 'dead' : 'failed';
}

function detailsOf(
  { id, state, nextAt }: Delivery,
  { number, status, why, note, fault }: DeliveryTry,
  base: string,
): string {
  const next = nextAt === null ? '' : `, again at ${nextAt.toISOString()}`;
  const said = [
    `try ${number}${why === null ? '' : `: ${why}`}${next}`,
    ...(status === 401 && fault === null ? ['check that the receiver uses the same secret'] : []),
    ...(note === null ? [] : [note]),
    ...(fault === null ? [] : [`injected fault: ${fault}`]),
    ...(state === 'dead' ? [`to retry: ${steeringText(base, 'retry', String(id))}`] : []),
  ];
  return `(${said.join('; ')})`;
}
