import { ConfigurationError } from '../errors.ts';
import { kindOf } from '../known-options.ts';
import type { Inbox } from './contract.ts';

/**
 * Refuses what is no inbox before the first delivery finds out.
 *
 * @param method - what is asked of it first
 * @throws ConfigurationError `INVALID_OPTION`
 */
export function assertInbox(whose: string, inbox: unknown, method: keyof Inbox): void {
  const isObject = typeof inbox === 'object' && inbox !== null;
  if (isObject && typeof Reflect.get(inbox, method) === 'function') return;
  const what = isObject && 'then' in inbox ? 'a promise: await it' : kindOf(inbox);
  throw new ConfigurationError(
    'INVALID_OPTION',
    `${whose}: inbox must be the result of sqliteInbox('shop.db') of hookbox/sqlite, postgresInbox(…) of ` +
      `hookbox/postgres or memoryInbox() of hookbox/memory, not ${what}.`,
  );
}
