import { createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookVerificationService } from '@hookflo/tern';
import { Webhooks } from '@octokit/webhooks';
import { parseEvent, verifySignature } from 'hookbox';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { installedVersion } from '../installed-version.ts';
import { secret, standardWebhooksSecret, type SigningScheme } from '../load/signing-schemes.ts';

/** What a server has in hand when a delivery has arrived: the bytes and the headers. */
export interface Arrived {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** One library's way from arrived bytes to an event that can be trusted. */
export interface Contender {
  readonly name: string;
  readonly title: string;
  readonly scheme: SigningScheme;
  /** Gives the parsed event, or throws when the signature is wrong. */
  readonly run: (arrived: Arrived) => unknown;
}

const octokit = new Webhooks({ secret });
const standardWebhook = new Webhook(standardWebhooksSecret);
const versioned = (name: string): string => `${name} ${installedVersion(name)}`;

export const contenders: readonly Contender[] = [
  {
    name: 'hookbox',
    title: 'hookbox: verifySignature, parseEvent (checked against the schema)',
    scheme: 'hookbox',
    run({ body, headers }) {
      if (!verifySignature(body, headers['x-signature'], secret)) return refuse();
      const parsed = parseEvent(body);
      return parsed.ok ? parsed.event : refuse();
    },
  },
  {
    name: 'hand-written',
    title: 'hand-written: createHmac, timingSafeEqual, JSON.parse',
    scheme: 'hookbox',
    run({ body, headers }) {
      const claimed = Buffer.from(headers['x-signature'] ?? '', 'hex');
      const expected = createHmac('sha256', secret).update(body).digest();
      if (claimed.length !== expected.length || !timingSafeEqual(claimed, expected)) return refuse();
      return JSON.parse(body.toString('utf8'));
    },
  },
  {
    name: 'octokit',
    title: `${versioned('@octokit/webhooks')}: verify, JSON.parse`,
    scheme: 'github',
    async run({ body, headers }) {
      const text = body.toString('utf8');
      if (!(await octokit.verify(text, headers['x-hub-signature-256'] ?? ''))) return refuse();
      return JSON.parse(text);
    },
  },
  {
    name: 'stripe',
    title: `${versioned('stripe')}: constructEvent`,
    scheme: 'stripe',
    run({ body, headers }) {
      return Stripe.webhooks.constructEvent(body, headers['stripe-signature'] ?? '', secret);
    },
  },
  {
    name: 'standardwebhooks',
    title: `${versioned('standardwebhooks')}: Webhook.verify`,
    scheme: 'standard-webhooks',
    run({ body, headers }) {
      return standardWebhook.verify(body, headers);
    },
  },
  {
    name: 'tern',
    title: `${versioned('@hookflo/tern')}: verifyWithPlatformConfig (with the Request it asks for)`,
    scheme: 'hookbox',
    async run({ body, headers }) {
      const request = new Request('http://127.0.0.1/webhooks', { method: 'POST', headers, body: new Uint8Array(body) });
      const result = await WebhookVerificationService.verifyWithPlatformConfig(request, 'lemonsqueezy', secret);
      return result.isValid ? result.payload : refuse();
    },
  },
];

function refuse(): never {
  throw new Error('The signature is not the one of this body.');
}
