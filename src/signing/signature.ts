// Some runtimes lack `hash`; a missing named import would break the module.
import * as crypto from 'node:crypto';
import { ConfigurationError } from '../errors.ts';

/** A signing secret: the text that the dashboard shows, or the bytes of that text. */
export type Secret = string | Uint8Array;

/**
 * One secret, or several during a rotation: `[process.env.NEW_SECRET, process.env.OLD_SECRET]`. `undefined` entries are
 * skipped if another secret is present.
 */
export type Secrets = Secret | readonly (Secret | undefined)[];

/** The two blocks that HMAC hashes first (RFC 2104). */
export interface SigningKey {
  readonly inner: Uint8Array;
  readonly outer: Uint8Array;
  readonly bytes: Uint8Array;
}

const HEX_DIGITS = 64;
/** Runs for every delivery; a regular expression takes twice as long. */
const IS_HEX_DIGIT = Uint8Array.from({ length: 128 }, (_, code) =>
  /[0-9a-f]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/**
 * Signs a body as the service does. The signature is the lowercase hexadecimal HMAC-SHA256 of the bytes (section 6.3 of
 * the service's interface).
 *
 * @param body - the exact bytes to send; a string is signed as UTF-8
 * @returns 64 lowercase hexadecimal digits, the value of `X-Signature`
 * @throws ConfigurationError `UNUSABLE_SECRET` if the secret is missing, is empty, or is the text `undefined` or `null`
 * @example
 * ```ts
 * import { signBody } from 'hookbox';
 *
 * const signature = signBody('{"id":"evt_1"}', 'a signing secret');
 * ```
 */
export function signBody(body: Uint8Array | string, secret: Secret): string {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  return hmac(bytes, signingKey(secret));
}

/**
 * Verifies the signature of a body in constant time (section 6.3 of the service's interface). If you pass several
 * secrets, the function tries each one. Neither the result nor its timing reveals which secret matched. For a wrong
 * body or signature, the function returns `false` and does not throw.
 *
 * @param body - the raw bytes as received, before any decoding
 * @param signature - the value of `X-Signature`; only 64 lowercase hexadecimal digits can match
 * @throws ConfigurationError `UNUSABLE_SECRET` if a secret is missing, is empty, or is the text `undefined` or `null`
 * @example
 * ```ts
 * import { signBody, verifySignature } from 'hookbox';
 *
 * const body = new TextEncoder().encode('{"id":"evt_1"}');
 * verifySignature(body, signBody(body, 'new'), ['new', 'old']); // true
 * ```
 */
export function verifySignature(body: Uint8Array, signature: string | null | undefined, secret: Secrets): boolean {
  return matchesSignature(body, signature, typeof secret === 'string' ? readyKeys(secret) : signingKeys(secret));
}

/** A verifier passes the same text each time. */
let last: { readonly secret: string; readonly keys: readonly SigningKey[] } | null = null;

function readyKeys(secret: string): readonly SigningKey[] {
  if (last?.secret !== secret) last = { secret, keys: signingKeys(secret) };
  return last.keys;
}

export function matchesSignature(
  body: Uint8Array,
  signature: string | null | undefined,
  keys: readonly SigningKey[],
): boolean {
  return matchingKey(body, signature, keys) !== null;
}

export function matchingKey(
  body: Uint8Array,
  signature: string | null | undefined,
  keys: readonly SigningKey[],
): SigningKey | null {
  if (!isWellFormedSignature(signature)) return null;
  claimed.write(signature, 'latin1');
  let matched: SigningKey | null = null;
  for (const key of keys) {
    expected.write(hmac(body, key), 'latin1');
    // First, so that every key is always tried.
    const matches = crypto.timingSafeEqual(expected, claimed);
    matched = matches ? key : matched;
  }
  return matched;
}

export function isWellFormedSignature(signature: unknown): signature is string {
  if (typeof signature !== 'string' || signature.length !== HEX_DIGITS) return false;
  for (let at = 0; at < HEX_DIGITS; at += 1) {
    if (IS_HEX_DIGIT[signature.charCodeAt(at)] !== 1) return false;
  }
  return true;
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** One call, which is twice as fast as an Hmac object (docs/benchmarks.md). */
const SMALL_BYTES = 16 * 1024;
// All code here is synchronous, so each buffer has one user at a time.
const innerText = Buffer.alloc(BLOCK_BYTES + SMALL_BYTES);
const outerText = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
const claimed = Buffer.alloc(HEX_DIGITS);
const expected = Buffer.alloc(HEX_DIGITS);
const oneCall: typeof crypto.hash | undefined = crypto.hash;

function hmac(body: Uint8Array, key: SigningKey): string {
  // An ArrayBuffer would copy as nothing, and the previous body would be signed.
  if (!(body instanceof Uint8Array)) throw new TypeError('body must be the raw body as a Uint8Array');
  if (body.byteLength > SMALL_BYTES || oneCall === undefined) {
    return crypto.createHmac('sha256', key.bytes).update(body).digest('hex');
  }
  innerText.set(key.inner);
  innerText.set(body, BLOCK_BYTES);
  outerText.set(key.outer);
  outerText.write(oneCall('sha256', innerText.subarray(0, BLOCK_BYTES + body.byteLength), 'hex'), BLOCK_BYTES, 'hex');
  return oneCall('sha256', outerText, 'hex');
}

/** RFC 2104: a longer key is hashed first; the blocks are the key xored with 0x36 and 0x5c. */
function readyKey(bytes: Uint8Array): SigningKey {
  const inner = new Uint8Array(BLOCK_BYTES).fill(0x36);
  const outer = new Uint8Array(BLOCK_BYTES).fill(0x5c);
  const short = bytes.byteLength > BLOCK_BYTES ? crypto.createHash('sha256').update(bytes).digest() : bytes;
  for (const [at, byte] of short.entries()) {
    inner[at] = byte ^ 0x36;
    outer[at] = byte ^ 0x5c;
  }
  return { inner, outer, bytes };
}

export function signingKeys(secret: Secrets): readonly SigningKey[] {
  if (!isList(secret)) return [signingKey(secret)];
  if (secret.length === 0) {
    throw new ConfigurationError('UNUSABLE_SECRET', 'The list of signing secrets is empty. Add at least one.');
  }
  // Before and after a rotation, the second variable is not set.
  const keys = secret.flatMap((one, index) => (one === undefined ? [] : [signingKey(one, `secret[${index}]`)]));
  if (keys.length > 0) return keys;
  throw new ConfigurationError(
    'UNUSABLE_SECRET',
    `secret[0] is undefined${secret.length > 1 ? ', and so are the others' : ''}: the list has no signing secret. Set at ` +
      "least one entry to the endpoint's signing secret from the dashboard, for example through SIGNING_SECRET.",
  );
}

function isList(secret: Secrets): secret is readonly (Secret | undefined)[] {
  return Array.isArray(secret);
}

/** `String(undefined)` is a key that anyone can guess (docs/wire-contract.md). */
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
    if (text === 'undefined' || text === 'null')
      return unusable(`is the string "${text}", so an environment variable is not set`);
    return readyKey(Buffer.from(secret, 'utf8'));
  }
  if (secret instanceof Uint8Array) {
    if (secret.byteLength === 0) return unusable('is empty');
    return readyKey(Uint8Array.from(secret));
  }
  return unusable(`is ${secret === null ? 'null' : typeof secret}, not a string or bytes`);
}
