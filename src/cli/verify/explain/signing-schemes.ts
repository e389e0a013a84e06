import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { parseInstant } from '../../../events/instant.ts';
import type { Found } from './causes.ts';

/** A way to make a signature of a key and a body. */
export interface Scheme {
  /** `null` for the right one */
  readonly found: Found | null;
  readonly digits: (key: Buffer, body: Uint8Array) => string;
}

/** HMAC-SHA256 of the body alone (interface 6.3). */
export const RIGHT_SCHEME: Scheme = { found: null, digits: (key, body) => hmac('sha256', key, body) };

/** Other ways that people, libraries and other services sign. */
export function otherSchemes(body: Uint8Array, timestamp: string | null): readonly Scheme[] {
  const by = (cause: Found['cause'], what: string, digits: Scheme['digits']): Scheme => ({
    found: { cause, what },
    digits,
  });
  const after = (prefix: string, what: string): Scheme =>
    by('timestamp', what, (key, bytes) => hmac('sha256', key, Buffer.concat([Buffer.from(prefix), bytes])));
  const { id, times } = envelopeOf(body);
  const known = timestamp === null ? times : [timestamp, ...times];
  return [
    ...['sha1', 'sha512', 'sha384', 'sha224', 'md5', 'sha3-256'].map((name) =>
      by('algorithm', `the signature is an HMAC with ${name.toUpperCase()}`, (key, bytes) => hmac(name, key, bytes)),
    ),
    ...['sha256', 'sha1', 'sha512', 'md5'].map((name) =>
      by('algorithm', `the signature is the ${name.toUpperCase()} of the body, without the secret`, (_, bytes) =>
        hash(name, bytes),
      ),
    ),
    by('algorithm', 'the signature is the SHA-256 of the secret and the body', (key, bytes) =>
      hash('sha256', key, bytes),
    ),
    by('algorithm', 'the signature is the SHA-256 of the body and the secret', (key, bytes) =>
      hash('sha256', bytes, key),
    ),
    by('algorithm', 'the body and the secret were swapped: the body was used as the key', (key, bytes) =>
      hmac('sha256', Buffer.from(bytes), key),
    ),
    by('algorithm', 'the signature was computed over the hexadecimal SHA-256 of the body', (key, bytes) =>
      hmac('sha256', key, Buffer.from(hash('sha256', bytes))),
    ),
    by('algorithm', 'the signature was computed over the binary SHA-256 of the body', (key, bytes) =>
      hmac('sha256', key, Buffer.from(hash('sha256', bytes), 'hex')),
    ),
    ...known.flatMap((time) => [
      after(`${time}.`, 'the signer put a timestamp and a full stop before the body, as Stripe does'),
      after(`v0:${time}:`, 'the signer put v0, a timestamp and colons before the body, as Slack does'),
      after(`${id}.${time}.`, 'the signer put the id and a timestamp before the body, as in Standard Webhooks'),
      after(time, 'the signer put a timestamp before the body'),
    ]),
  ];
}

/** What of the body others sign before it: its id, and its time in each usual form. */
function envelopeOf(body: Uint8Array): { readonly id: string; readonly times: readonly string[] } {
  const start = Buffer.from(body.subarray(0, 4_096)).toString();
  const id = /"id"\s*:\s*"([^"\\]*)"/.exec(start)?.[1] ?? '';
  const created = /"created"\s*:\s*"([^"\\]*)"/.exec(start)?.[1];
  const instant = created === undefined ? null : parseInstant(created);
  if (created === undefined || instant === null) return { id, times: [] };
  return { id, times: [String(Math.floor(instant.ms / 1000)), String(instant.ms), created] };
}

const keys = new WeakMap<Buffer, KeyObject>();

function hmac(algorithm: string, key: Buffer, body: Uint8Array): string {
  let ready = keys.get(key);
  if (ready === undefined) keys.set(key, (ready = createSecretKey(key)));
  return createHmac(algorithm, ready).update(body).digest('hex');
}

function hash(algorithm: string, ...parts: Uint8Array[]): string {
  const digest = createHash(algorithm);
  for (const part of parts) digest.update(part);
  return digest.digest('hex');
}
