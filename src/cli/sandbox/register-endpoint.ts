import { createHash, randomBytes } from 'node:crypto';
import type { Endpoint, Sandbox } from '../../sandbox/index.ts';

/** How an endpoint is to be signed for: with a secret that is given, with none, or as it comes. */
export type Signing = { readonly secret: string } | 'unsigned' | 'as it comes';

/** An endpoint that is registered now. */
export interface Registered {
  readonly endpoint: Endpoint;
  readonly isNew: boolean;
  /** a secret that was made for it, which nobody is told again; `null` for none */
  readonly madeSecret: string | null;
  /** whether it is signed for with a secret that was given just now */
  readonly isSecretGiven: boolean;
}

/**
 * Registers an address for all events, unless it is registered already.
 *
 * @param renew - whether one that is registered already gets a new secret where none is given
 * @param seed - makes a secret that repeats itself
 */
export function registerEndpoint(
  { webhooks }: Sandbox,
  url: URL,
  signing: Signing,
  { renew = false, seed }: { readonly renew?: boolean; readonly seed?: number | undefined } = {},
): Registered {
  const known = webhooks.list().find((endpoint) => endpoint.url === url.href);
  const isMade = signing === 'as it comes' && (known === undefined || renew);
  const madeSecret = isMade ? newSecret(seed) : null;
  const secret = typeof signing === 'object' ? signing.secret : madeSecret;
  let id = known?.id;
  if (id === undefined) id = webhooks.add({ url: url.href, secret, events: null });
  else if (isMade || signing !== 'as it comes') webhooks.change(id, { secret });
  const endpoint = webhooks.list().find((one) => one.id === id);
  if (endpoint === undefined) throw new Error('A registered endpoint is missing.');
  return { endpoint, isNew: known === undefined, madeSecret, isSecretGiven: typeof signing === 'object' };
}

function newSecret(seed: number | undefined): string {
  const bytes =
    seed === undefined
      ? randomBytes(24)
      : createHash('sha256').update(`${seed}/signing-secret`).digest().subarray(0, 24);
  return `whsec_${bytes.toString('base64url')}`;
}
