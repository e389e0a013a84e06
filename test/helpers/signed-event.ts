import { randomUUID } from 'node:crypto';
import { signBody } from '../../src/index.ts';

export const SECRET = 'a secret that only the tests know';

/** A body and the headers it is delivered with. */
export interface SignedDelivery {
  readonly body: Uint8Array;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface SignedEvent extends SignedDelivery {
  readonly id: string;
}

/** An event that fits the schema, under an id nobody has used, with `more` in its envelope. */
export function signedEvent(more: Readonly<Record<string, unknown>> = {}): SignedEvent {
  const id = `evt_${randomUUID()}`;
  const envelope = {
    id,
    type: 'order.created',
    created: '2026-03-01T12:00:00Z',
    data: { object: 'order', id: 'ord_1', total: 12.5, currency: 'EUR' },
  };
  return { id, ...signed(JSON.stringify({ ...envelope, ...more })) };
}

/** An event whose body has exactly so many bytes. */
export function signedEventOfSize(bytes: number): SignedEvent {
  const { id, body } = signedEvent({ padding: '' });
  const text = new TextDecoder().decode(body);
  const padded = text.replace('"padding":""', `"padding":"${'x'.repeat(bytes - body.byteLength)}"`);
  return { id, ...signed(padded) };
}

/** Any bytes, under the right signature. */
export function signed(body: Uint8Array | string): SignedDelivery {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return { body: bytes, headers: [['X-Signature', signBody(bytes, SECRET)]] };
}

/** One that its sender has encoded before it signed it; what it is encoded with is text, as gateways may hand on no bytes. */
export function encodedDelivery(encoding = 'base64'): SignedDelivery {
  const { body, headers } = signed(Buffer.from(signedEvent().body).toString('base64'));
  return { body, headers: [...headers, ['Content-Encoding', encoding]] };
}

/** A signature in the right form, of nothing that is ever sent: with it, a body is read. */
export const WELL_FORMED: readonly [name: string, value: string] = ['X-Signature', '0'.repeat(64)];
