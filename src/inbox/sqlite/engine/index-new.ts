import { Budget } from '../../rules/budget.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

/** So many events are indexed in one transaction. */
const BATCH = 500;

/**
 * Adds new events up to `upTo` to the indexes that claims read.
 *
 * @returns whether some are left
 */
export function indexNew({ moves, queue }: NamedStatements, now: number, upTo: number): boolean {
  const budget = new Budget();
  const rows = queue.fresh.all({ upTo, limit: BATCH }) as { seq: number; bytes: number }[];
  let last: number | undefined;
  for (const { seq, bytes } of rows) {
    if (budget.isSpent) break;
    budget.spend(bytes);
    last = seq;
  }
  if (last === undefined) return false;
  moves.indexNew.run({ now, upTo: last, limit: BATCH });
  return rows.length === BATCH || last !== rows.at(-1)?.seq;
}
