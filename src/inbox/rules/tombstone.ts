import { createHash } from 'node:crypto';

/** A body, or the hash of a body that was removed. */
export interface StoredBody {
  readonly body: Uint8Array | null;
  readonly hash: Uint8Array | null;
}

/** What still tells the same bytes from others when the body has gone. */
export function hashOf(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest();
}

/** The hash of a body that the inbox has never seen, as of an event that other code has handled. */
export const UNKNOWN_HASH: Uint8Array = new Uint8Array();

/** Whether a delivery has brought the bytes that are known. */
export function hasSameBody(known: StoredBody, arrived: Uint8Array): boolean {
  return isSameBody(known, { body: arrived, hash: null });
}

/**
 * Whether two are of the same bytes: by the bytes where both are there, by their hashes otherwise. A body that was never
 * seen counts as the same, because a redelivery of it must not be reported as a conflict.
 */
export function isSameBody(one: StoredBody, other: StoredBody): boolean {
  if (one.body !== null && other.body !== null) return Buffer.compare(one.body, other.body) === 0;
  const [hash, otherHash] = [knownHash(one), knownHash(other)];
  if (hash === null || otherHash === null) return false;
  return hash.byteLength === 0 || otherHash.byteLength === 0 || Buffer.compare(hash, otherHash) === 0;
}

function knownHash({ body, hash }: StoredBody): Uint8Array | null {
  return body === null ? hash : hashOf(body);
}
