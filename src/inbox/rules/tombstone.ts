import { createHash } from 'node:crypto';
import type { Scope } from '../work.ts';
import type { StoredBody, Tombstones } from './engine.ts';
import type { Steps } from './steps.ts';

/** What still tells the same bytes from others when the body has gone. */
export function hashOf(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest();
}

/** Whether a delivery has brought the bytes that are known. */
export function hasSameBody({ body, hash }: StoredBody, arrived: Uint8Array): boolean {
  if (body !== null) return Buffer.compare(body, arrived) === 0;
  return hash !== null && Buffer.compare(hash, hashOf(arrived)) === 0;
}

/** What goes is the body, other bodies under the id, and what errors said; what stays still deduplicates. */
export function* makeTombstone(engine: Tombstones, seq: number, body: Uint8Array): Steps<void> {
  yield* engine.prune(seq, hashOf(body));
  yield* engine.pruneErrors(seq);
  yield* engine.forgetConflict(seq);
}

/** Makes tombstones of as many as fit in the slice; returns how many. */
export function* pruneSome(
  engine: Tombstones,
  endpoints: Scope['endpoints'],
  before: number,
  limit: number,
): Steps<number> {
  const slice = engine.timeSlice();
  let pruned = 0;
  for (const seq of yield* engine.prunable(endpoints, before, limit)) {
    const body = yield* engine.bodyOf(seq);
    yield* makeTombstone(engine, seq, body);
    pruned += 1;
    slice.add(body.byteLength);
    if (slice.isOver()) break;
  }
  return pruned;
}
