import { pausesIn } from '../../rules/pauses.ts';
import type { Scope } from '../../work.ts';
import type { NamedStatements } from '../sql/named-statements.ts';
import { readyTypesBut } from './sqlite-store.ts';
import { pausesOf, readyEndpoints } from './handled-types.ts';

/** When the next event of a scope is due that is not paused, or a lease runs out. */
export function nextDue(statements: NamedStatements, scope: Scope): number | null {
  const { queue } = statements;
  const { endpoints, types } = openScope(statements, scope);
  const named = { endpoints: JSON.stringify(endpoints), types: JSON.stringify(types) };
  const found =
    endpoints === '*'
      ? (types === '*' ? queue.nextDueOfAll : queue.nextDueAnywhere).get(named)
      : (types === '*' ? queue.nextDueOfEveryType : queue.nextDue).get(named);
  return (found as { at: number | null }).at;
}

/** Where something is paused, every type is each by its name: by that, paused ones are passed over. */
function openScope(statements: NamedStatements, scope: Scope): Scope {
  if (scope.types !== '*' || !pausesIn(pausesOf(statements), scope)) return scope;
  const endpoints = readyEndpoints(statements, scope.endpoints);
  return { endpoints, types: [...new Set(endpoints.flatMap((endpoint) => readyTypesBut(statements, endpoint, [])))] };
}
