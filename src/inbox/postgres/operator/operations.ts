import type { Acts } from '../../operator/acts.ts';
import type { Audit } from '../../operator/audit.ts';
import type { Removal } from '../../operator/removal.ts';
import type { Search } from '../../operator/search.ts';
import type { Transfer } from '../../operator/transfer.ts';
import type { Access } from './access.ts';
import { actsOnEvents } from './acts/act-on-events.ts';
import { bulks } from './acts/bulks.ts';
import { audit } from './audit/audit-log.ts';
import type { EntityIndex } from './removal/entity-index.ts';
import { erasing } from './removal/erasing.ts';
import { pruning } from './removal/pruning.ts';
import { copies } from './transfer/copies.ts';
import { exporting } from './transfer/exporting.ts';
import type { NoteImported } from './transfer/import-engine.ts';
import { importing } from './transfer/importing.ts';

/** What removal and transfer ask of whatever finds events. */
export interface Finding extends Pick<Search, 'search'> {
  readonly noteImported: NoteImported;
  readonly entities: EntityIndex;
}

/** What operators do, on the tables of a schema. */
export function postgresOperations(
  access: Access,
  { search, noteImported, entities }: Finding,
): Acts & Audit & Removal & Transfer {
  return {
    ...actsOnEvents(access),
    ...bulks(access),
    ...audit(access),
    ...pruning(access),
    ...erasing(access, entities),
    ...exporting(access, search),
    ...importing(access, noteImported),
    ...copies(access),
  };
}
