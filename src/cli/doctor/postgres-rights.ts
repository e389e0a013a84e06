import { missingRight, type Rights } from '../../inbox/postgres/opening/server-faults.ts';
import { quoted } from '../../inbox/postgres/sql/tables.ts';
import { ok, problem, warning, type Finding } from './finding.ts';

/** Whether it may be asked what the schema holds. */
export function mayLook({ there, uses, closed }: Rights): boolean {
  return !there || (uses && !closed.includes('migrations'));
}

/** Says whether a role may do what an inbox needs, and what to grant. */
export function judgeRights(rights: Rights, schema: string): Finding {
  const missing = missingRight(rights, schema);
  if (missing !== null) return problem('rights', missing.what, missing.advice);
  const does = rights.there ? 'use an inbox' : `create the schema ${schema}`;
  return ok('rights', `the role ${quoted(rights.role)} may ${does}`);
}

/** Says where the application's own tables would be made by mistake; nothing where they would not. */
export function judgeSearchPath({ role, isFirst }: Rights, schema: string): readonly Finding[] {
  if (!isFirst) return [];
  const own = role === schema ? ', because the role and the schema have the same name' : '';
  const what = `if a CREATE statement names no schema, Postgres creates the object in ${schema}, where the tables of the inbox are${own}`;
  const advice = `Rename the role, or run ALTER ROLE ${quoted(role)} SET search_path = public`;
  return [warning('search_path', what, advice)];
}
