import { orderEvent, type OrderEvent } from './load/order-event.ts';
import type { Row } from './rows.ts';
import { signedHeaders } from './load/signing-schemes.ts';

/** Throws unless the server does what its row claims: a fast server that checks nothing would win every table. */
export async function proveVerifies(row: Row, port: number): Promise<void> {
  const event = orderEvent();
  const accepted = await deliver(row, port, event);
  if (accepted.status !== 200) throw new Error(`${row.name} answered ${accepted.status} to a signed event.`);
  if (!row.verifies) return;
  const forged = await deliver(row, port, orderEvent(), signedHeaders(row.scheme, event));
  if (forged.status < 400 || forged.status > 499) {
    throw new Error(`${row.name} answered ${forged.status} to a forged event.`);
  }
}

/** Throws unless an event sent under load is answered as a duplicate now, so it was stored then. */
export async function proveStored(row: Row, port: number, event: OrderEvent): Promise<void> {
  if (!row.stores) return;
  const { status, text } = await deliver(row, port, event);
  if (status !== 200 || !/"duplicate":\s*true/.test(text)) {
    throw new Error(`${row.name} had not stored an event of the load: ${status} ${text}`);
  }
}

async function deliver(
  row: Row,
  port: number,
  event: OrderEvent,
  headers = signedHeaders(row.scheme, event),
): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: event.body,
  });
  return { status: response.status, text: await response.text() };
}
