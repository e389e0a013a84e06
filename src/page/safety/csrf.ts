import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Visitor } from '../visit.ts';
import { usableSecret } from './usable-secret.ts';

/** Makes and checks the tokens that every form of the page sends back. */
export interface Tokens {
  readonly tokenFor: (visitor: Visitor) => string;
  readonly isTokenOf: (visitor: Visitor, token: unknown) => boolean;
}

/**
 * A token is an HMAC of who the visitor is: another site cannot read it out of the page, and one visitor's is of no use to
 * another. Nothing is stored, and no cookie is needed.
 *
 * @param secret - the key; random unless given, so a form that was open while the process restarted has to be reloaded. Where
 * several processes serve one page they need the same.
 * @throws ConfigurationError for a secret that anybody could guess
 */
export function csrfTokens(secret?: string): Tokens {
  const key = secret === undefined ? randomBytes(32) : usableSecret(secret, 'secret');
  const tokenFor = ({ role, name }: Visitor): string => {
    return createHmac('sha256', key).update(`hookbox page\n${role}\n${name}`).digest('base64url');
  };
  return {
    tokenFor,
    isTokenOf(visitor, token) {
      if (typeof token !== 'string') return false;
      const expected = Buffer.from(tokenFor(visitor));
      const given = Buffer.from(token);
      return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
    },
  };
}
