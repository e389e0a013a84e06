import { createHash } from 'node:crypto';
import type { Store } from './store.ts';

/** Names requests (interface 7.2): the same calls get the same names, and no two requests one. */
export interface RequestIds {
  next(): string;
}

/** Only the opening of the sandbox is written, so that a request that changes nothing writes nothing. */
export function createRequestIds(store: Store): RequestIds {
  const opening = store.write((tx) => tx.newId('opening'));
  let count = 0;
  return {
    next() {
      count += 1;
      return `req_${createHash('sha256').update(`${opening}/${count}`).digest('hex').slice(0, 16)}`;
    },
  };
}
