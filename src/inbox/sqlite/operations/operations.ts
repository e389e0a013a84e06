import type { Operations } from '../../operations/operations.ts';
import type { Access } from './access.ts';
import { acts } from './acts.ts';
import { audit } from './audit.ts';
import { counts } from './counts.ts';
import { removal } from './removal.ts';
import { search } from './search.ts';
import { transfer } from './transfer.ts';

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
