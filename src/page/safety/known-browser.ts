import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { usableSecret } from './usable-secret.ts';

/**
 * Knows browsers again that have logged in to an account before: behind a proxy everybody has its address, and who guesses through
 * it must not keep out those who know their password. The cookie says no more than that, and lets nobody in.
 */
export interface KnownBrowsers {
  /** The name of the browser; `null` for one that has not logged in to this account. */
  readonly nameOf: (request: Request, account: string) => string | null;
  /** What the cookie of one that has logged in now holds. */
  readonly cookieFor: (account: string) => string;
}

export const KNOWN_COOKIE = 'hookbox-known';
const IN_HEADER = new RegExp(`(?:^|; ?)${KNOWN_COOKIE}=([\\w-]{16,64})\\.([\\w-]{43})(?=;|$)`);

/** @param secret - that of the page; random unless given, so browsers are not known after a restart */
export function knownBrowsers(secret?: string): KnownBrowsers {
  const key = secret === undefined ? randomBytes(32) : usableSecret(secret, 'secret');
  const signed = (account: string, name: string): string =>
    createHmac('sha256', key).update(`hookbox browser\n${name}\n${account}`).digest('base64url');
  return {
    nameOf({ headers }, account) {
      const [, name = '', given = ''] = IN_HEADER.exec(headers.get('cookie') ?? '') ?? [];
      const expected = signed(account, name);
      return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
        ? name
        : null;
    },
    cookieFor(account) {
      const name = randomBytes(18).toString('base64url');
      return `${name}.${signed(account, name)}`;
    },
  };
}
