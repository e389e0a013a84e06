import type { Operations } from '../../operator/operations.ts';
import type { Access } from './access.ts';
import { actsOnEvents } from './acts/act-on-events.ts';
import { audit } from './audit/audit-log.ts';
import { search } from './search/event-search.ts';

/** What operators do, on the tables of a schema. */
export function postgresOperations(
  access: Access,
): Pick<Operations, 'act' | 'note' | 'recount' | 'lines' | 'search' | 'summary' | 'indexNew'> {
  return {
    ...search(access),
    ...actsOnEvents(access),
    ...audit(access),
  };
}
