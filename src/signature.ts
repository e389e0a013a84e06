import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto';
import { ConfigurationError } from './errors.ts';

/** A signing secret as the dashboard shows it, or its bytes. */
export type Secret = string | Uint8Array;

/** A key made ready once, so that each delivery costs one HMAC and no key set-up. */
export type SigningKey = KeyObject;

const HEX_DIGITS = 64;
const SIGNATURE = /^[0-9a-f]{64}$/;

/**
 * Signs a body as the service does: the lowercase hexadecimal HMAC-SHA256 of its bytes (interface 6.3).
 *
 * @param body - the exact bytes that are sent; a string is signed as its UTF-8 bytes
 * @returns 64 lowercase hexadecimal digits, the value of `X-Signature`
 * @throws ConfigurationError `UNUSABLE_SECRET` if the secret is missing, empty or reads `undefined` or `null`
 * @example
 * ```ts
 * import { signBody } from 'hookbox';
 *
 * const signature = signBody('{"id":"evt_1"}', 'a signing secret');
 * ```
 */
export function signBody(body: Uint8Array | string, secret: Secret): string {
  return createHmac('sha256', signingKey(secret)).update(body).digest('hex');
}

/**
 * Tells whether `signature` is the service's signature of these bytes (interface 6.3), in constant time. With several
 * secrets each is tried, and neither the answer nor its timing tells which one matched.
 *
 * Whatever a sender controls (body and signature) gives `false`, never an exception.
 *
 * @param body - the raw bytes as they arrived, before any decoding
 * @param signature - the value of `X-Signature`; anything but exactly 64 lowercase hexadecimal digits is refused
 * @throws ConfigurationError `UNUSABLE_SECRET` if a secret is missing, empty or reads `undefined` or `null`
 * @example
 * ```ts
 * import { signBody, verifySignature } from 'hookbox';
 *
 * const body = new TextEncoder().encode('{"id":"evt_1"}');
 * verifySignature(body, signBody(body, 'new'), ['new', 'old']); // true
 * ```
 */
export function verifySignature(
  body: Uint8Array,
  signature: string | null | undefined,
  secret: Secret | readonly Secret[],
): boolean {
  return matchesSignature(body, signature, signingKeys(secret));
}

/** `verifySignature` with keys made ready before. */
export function matchesSignature(
  body: Uint8Array,
  signature: string | null | undefined,
  keys: readonly SigningKey[],
): boolean {
  if (!isWellFormedSignature(signature)) return false;
  // Well-formed first: Buffer.from(…, 'hex') drops a bad tail without a word.
  const claimed = Buffer.from(signature, 'hex');
  let matched = false;
  for (const key of keys) {
    const expected = createHmac('sha256', key).update(body).digest();
    // Compared before it is combined, so that every key is always tried.
    const matches = timingSafeEqual(expected, claimed);
    matched = matches || matched;
  }
  return matched;
}

export function isWellFormedSignature(signature: unknown): signature is string {
  return typeof signature === 'string' && signature.length === HEX_DIGITS && SIGNATURE.test(signature);
}

/** Makes one or several secrets ready; refuses what can only be a mistake. */
export function signingKeys(secret: Secret | readonly Secret[]): readonly SigningKey[] {
  if (!isList(secret)) return [signingKey(secret)];
  if (secret.length === 0) {
    throw new ConfigurationError('UNUSABLE_SECRET', 'The list of signing secrets is empty: give at least one.');
  }
  return secret.map((one, index) => signingKey(one, `secret[${index}]`));
}

function isList(secret: Secret | readonly Secret[]): secret is readonly Secret[] {
  return Array.isArray(secret);
}

/** `String(undefined)` is a working HMAC key that anyone can guess, so what reads like one is refused (design 2.1). */
function signingKey(secret: Secret, name = 'secret'): SigningKey {
  const unusable = (why: string): never => {
    throw new ConfigurationError(
      'UNUSABLE_SECRET',
      `${name} ${why}. Set it to the endpoint's signing secret from the dashboard, for example through SIGNING_SECRET.`,
    );
  };
  if (typeof secret === 'string') {
    const text = secret.trim();
    if (text === '') return unusable('is empty');
    if (text === 'undefined' || text === 'null') return unusable(`reads "${text}", so a variable was not set`);
    return createSecretKey(Buffer.from(secret, 'utf8'));
  }
  if (secret instanceof Uint8Array) {
    if (secret.byteLength === 0) return unusable('is empty');
    return createSecretKey(secret);
  }
  return unusable(`is ${secret === null ? 'null' : typeof secret}, not a string or bytes`);
}
