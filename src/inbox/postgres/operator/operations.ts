import type { Counts } from '../../operator/counts.ts';
import type { Operations } from '../../operator/operations.ts';
import type { Search } from '../../operator/search.ts';
import type { Access } from './access.ts';
import { actsOnEvents } from './acts/act-on-events.ts';
import { audit } from './audit/audit-log.ts';
import { counts } from './counts/stored-counts.ts';
import { deadGroups } from './search/dead-groups.ts';
import { search } from './search/event-search.ts';

/** What operators do, on the tables of a schema. */
export function postgresOperations(
  access: Access,
): Counts & Search & Pick<Operations, 'act' | 'note' | 'recount' | 'lines'> {
  return {
    ...search(access),
    ...actsOnEvents(access),
    ...audit(access),
    ...counts(access),
    deadGroups: () => access.ask(() => deadGroups(access.store)),
  };
}
