import { InboxOpenError } from '../../errors.ts';
import { assertLasting } from '../../host/files.ts';

/**
 * `hookbox/sqlite` as Cloudflare Workers get it: there is neither a disk nor a thread, and what would use them does not load.
 *
 * @throws InboxOpenError
 */
export function sqliteInbox(): never {
  assertLasting('sqliteInbox', false);
  throw new InboxOpenError('CANNOT_OPEN', 'sqliteInbox needs Node, Bun or Deno on a machine with a disk.');
}
