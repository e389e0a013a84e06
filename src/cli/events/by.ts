import { hostname, userInfo } from 'node:os';
import type { By } from '../../ops/index.ts';
import type { ByOptions } from './event-options.ts';

/** Who acts through the command line, and why. */
export function byOf({ actor = userAtHost(), reason }: ByOptions): By {
  return { actor, via: 'cli', ...(reason !== undefined && { reason }) };
}

/** Who uses this machine, for an audit that may be read on another. */
export function userAtHost(): string {
  return `${userName()}@${hostname()}`;
}

/** A user id of a container need not have a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user-${process.getuid?.() ?? 'unknown'}`;
  }
}
