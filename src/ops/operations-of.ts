import { ConfigurationError } from '../errors.ts';
import type { Inbox } from '../inbox/contract.ts';
import type { Operations } from '../inbox/operator/operations.ts';

/** @throws ConfigurationError for an inbox that cannot be looked into, such as `memoryInbox()` */
export function operationsOf({ operations }: Pick<Inbox, 'operations'>): Operations {
  if (operations !== undefined) return operations;
  throw new ConfigurationError('INVALID_OPTION', 'This inbox cannot be looked into. Use sqliteInbox or postgresInbox.');
}
