import type { Delivery } from '../../src/receive/delivery.ts';
import { signBody } from '../../src/signing/signature.ts';

export const SECRET = 'the secret of these tests';

/** The body of an `order.created` with an id. */
export function orderBody(id: string): string {
  const data = { object: 'order', id: `ord_${id}`, total: 42.5, currency: 'USD' };
  return JSON.stringify({ id, type: 'order.created', created: '2026-01-01T00:00:00Z', data });
}

/** What the service sends for that order. */
export function orderDelivery(id: string): Delivery & { readonly body: Uint8Array } {
  const body = Buffer.from(orderBody(id));
  return { body, signature: signBody(body, SECRET) };
}
