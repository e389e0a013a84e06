import type { Scope } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';

/** When the next event of a scope is due, or a lease runs out. */
export function nextDue({ queue }: NamedStatements, { endpoints, types }: Scope): number | null {
  const named = { endpoints: JSON.stringify(endpoints), types: JSON.stringify(types) };
  const found =
    endpoints === '*'
      ? (types === '*' ? queue.nextDueOfAll : queue.nextDueAnywhere).get(named)
      : (types === '*' ? queue.nextDueOfEveryType : queue.nextDue).get(named);
  return (found as { at: number | null }).at;
}
