import type { Acts } from '../../operator/acts.ts';
import type { Audit } from '../../operator/audit.ts';
import type { Operations } from '../../operator/operations.ts';
import type { Access } from './access.ts';
import { actsOnEvents } from './acts/act-on-events.ts';
import { bulks } from './acts/bulks.ts';
import { audit } from './audit/audit-log.ts';
import { pruning } from './removal/pruning.ts';

/** What operators do, on the tables of a schema. */
export function postgresOperations(
  access: Access,
): Pick<Operations, keyof Acts | keyof Audit | 'prunable' | 'pruneSome'> {
  return {
    ...actsOnEvents(access),
    ...bulks(access),
    ...audit(access),
    ...pruning(access),
  };
}
