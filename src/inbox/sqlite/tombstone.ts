import { createHash } from 'node:crypto';
import type { Statements } from './statements.ts';

/** What still tells the same bytes from others when the body has gone. */
export function hashOf(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest();
}

/** What goes is the body, other bodies under the id, and what errors said; what stays still deduplicates. */
export function makeTombstone(statements: Statements, seq: number, body: Uint8Array): void {
  statements.moves.prune.run({ seq, hash: hashOf(body) });
  statements.queue.pruneAttempts.run({ seq });
  statements.queue.pruneConflict.run({ seq });
}
