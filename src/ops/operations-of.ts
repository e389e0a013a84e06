import { ConfigurationError } from '../errors.ts';
import type { AnyInbox, Operations } from '../inbox/contract.ts';
import { kindOf } from '../option-rules.ts';

export function operationsOf(inbox: Pick<AnyInbox, 'operations'>): Operations {
  if (typeof inbox !== 'object' || inbox === null) {
    const message = `The first argument must be an inbox, such as sqliteInbox('shop.db'), not ${kindOf(inbox)}.`;
    throw new ConfigurationError('INVALID_OPTION', message);
  }
  if (inbox.operations !== undefined) return inbox.operations;
  throw new ConfigurationError(
    'INVALID_OPTION',
    'This inbox does not support operations. Use sqliteInbox or postgresInbox.',
  );
}
