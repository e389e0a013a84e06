// The second table, in a process of its own: node verify-and-parse.ts [--quick], one line of JSON at the end.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookVerificationService } from '@hookflo/tern';
import { Webhooks } from '@octokit/webhooks';
import { parseEvent, verifySignature } from 'hookbox';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { z } from 'zod';
import { installedVersion } from './installed-version.ts';
import { median } from './median.ts';
import { orderEvent } from './order-event.ts';
import { secret, signedHeaders, standardWebhooksSecret, type SigningScheme } from './signing-schemes.ts';

/** What verifying and parsing one event costs with one library. */
export type VerifyAndParseTime = z.infer<typeof verifyAndParseTimes>[number];

export const verifyAndParseTimes = z.array(z.object({ name: z.string(), title: z.string(), microseconds: z.number() }));

/** What a server has in hand when a delivery has arrived: the bytes and the headers. */
interface Arrived {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

interface Contender {
  readonly name: string;
  readonly title: string;
  readonly scheme: SigningScheme;
  /** Gives the parsed event, or throws when the signature is wrong. */
  readonly run: (arrived: Arrived) => unknown;
}
