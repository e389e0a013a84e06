import { InboxOpenError } from '../../errors.ts';
import { assertLasting } from '../../host/files.ts';

/**
 * `hookbox/sqlite` on Cloudflare Workers, which have neither a disk nor threads.
 *
 * @throws InboxOpenError
 */
export function sqliteInbox(): never {
  assertLasting('sqliteInbox', false);
  throw new InboxOpenError('CANNOT_OPEN', 'sqliteInbox needs Node, Bun or Deno on a machine with a disk.');
}
