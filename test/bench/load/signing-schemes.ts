import { createHmac } from 'node:crypto';
import type { OrderEvent } from './order-event.ts';

/** How a sender proves that a delivery is its own. `hookbox` is our service's scheme, which Lemon Squeezy shares. */
export type SigningScheme = 'hookbox' | 'github' | 'stripe' | 'standard-webhooks';

/** The secret of every server but the Standard Webhooks one. */
export const secret = 'bench-secret-3f9d2c7a51e84b06';

/** Standard Webhooks wants its secret in base64. */
export const standardWebhooksSecret = `whsec_${Buffer.from(secret).toString('base64')}`;

/** Stripe and Standard Webhooks refuse a signature that is five minutes old; requests are made anew well before. */
export const freshForMs = 180_000;

/** The headers with which a sender of this scheme delivers the event, signed now. */
export function signedHeaders(scheme: SigningScheme, { id, body }: OrderEvent): Record<string, string> {
  switch (scheme) {
    case 'hookbox':
      return { 'x-signature': hmac(body, 'hex') };
    case 'github':
      return {
        'x-github-event': 'push',
        'x-github-delivery': id,
        'x-hub-signature-256': `sha256=${hmac(body, 'hex')}`,
      };
    case 'stripe': {
      const timestamp = Math.floor(Date.now() / 1000);
      return { 'stripe-signature': `t=${timestamp},v1=${hmac(`${timestamp}.${body}`, 'hex')}` };
    }
    case 'standard-webhooks': {
      const timestamp = Math.floor(Date.now() / 1000);
      return {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': `v1,${hmac(`${id}.${timestamp}.${body}`, 'base64')}`,
      };
    }
  }
}

function hmac(content: string, encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', secret).update(content).digest(encoding);
}
