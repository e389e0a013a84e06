import type { Operations } from '../../operations/operations.ts';
import type { Access } from './access.ts';
import { acts } from './acts/acts.ts';
import { audit } from './audit/audit.ts';
import { counts } from './counts/counts.ts';
import { removal } from './removal/removal.ts';
import { search } from './search/search.ts';
import { transfer } from './transfer/transfer.ts';

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
