import type { Operations } from '../../operator/operations.ts';
import type { Access } from './access.ts';
import { acts } from './acts/act-on-keys.ts';
import { audit } from './audit/audit-lines.ts';
import { counts } from './counts/stored-counts.ts';
import { removal } from './removal/prune-and-erase.ts';
import { search } from './search/event-search.ts';
import { transfer } from './transfer/export-import-backup.ts';

/** What operators do, on the tables of a file. */
export function sqliteOperations(access: Access): Operations {
  return {
    ...search(access),
    ...acts(access),
    ...audit(access),
    ...removal(access),
    ...transfer(access),
    ...counts(access),
  };
}
