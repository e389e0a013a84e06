import type { Counts } from '../../operator/counts.ts';
import type { Operations } from '../../operator/operations.ts';
import type { Access } from './access.ts';
import { actsOnEvents } from './acts/act-on-events.ts';
import { audit } from './audit/audit-log.ts';
import { counts } from './counts/stored-counts.ts';
import { deadGroups } from './search/dead-groups.ts';
import { summary } from './search/summary.ts';

/** What operators do, on the tables of a schema. */
export function postgresOperations(
  access: Access,
): Counts & Pick<Operations, 'act' | 'note' | 'recount' | 'lines' | 'deadGroups' | 'summary'> {
  return {
    ...actsOnEvents(access),
    ...audit(access),
    ...counts(access),
    summary: (key) => access.ask(() => summary(access.store, key)),
    deadGroups: () => access.ask(() => deadGroups(access.store)),
  };
}
