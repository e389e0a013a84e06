import type { Operations } from '../../operator/operations.ts';
import type { Access } from './access.ts';
import { actsOnEvents } from './acts/act-on-events.ts';
import { audit } from './audit/audit-log.ts';

/** What operators do, on the tables of a schema. */
export function postgresOperations(access: Access): Pick<Operations, 'act' | 'note' | 'recount' | 'lines'> {
  return {
    ...actsOnEvents(access),
    ...audit(access),
  };
}
