import type { Session } from '../driver/session.ts';
import { quoted, tableNames } from '../sql/tables.ts';

/** What a role may do with a schema. */
export interface Rights {
  readonly role: string;
  readonly database: string;
  /** there is such a schema */
  readonly there: boolean;
  readonly makesSchemas: boolean;
  readonly uses: boolean;
  readonly makesTables: boolean;
  /** how many of hookbox's tables there are */
  readonly tables: number;
  /** those that it cannot read and write */
  readonly closed: readonly string[];
  /** what names no schema is made in this one, as where the role is named as it is */
  readonly isFirst: boolean;
}

interface RightsRow extends Omit<Rights, 'tables' | 'closed'> {}

const RIGHTS = `
  SELECT current_user::text AS role, current_database()::text AS database, schema.oid IS NOT NULL AS there,
    has_database_privilege(current_database(), 'CREATE') AS "makesSchemas",
    coalesce(has_schema_privilege(schema.oid, 'USAGE'), false) AS uses,
    coalesce(has_schema_privilege(schema.oid, 'CREATE'), false) AS "makesTables",
    coalesce(current_schema() = $1, false) OR current_user = $1 AND current_setting('search_path') LIKE '"$user"%'
      AS "isFirst"
  FROM (SELECT 1) AS one LEFT JOIN pg_namespace AS schema ON nspname = $1`;

const TABLES = `
  SELECT relname::text AS name, bool_and(has_table_privilege(pg_class.oid, needed)) AS open
  FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
  CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed
  WHERE nspname = $1 AND relkind = 'r' AND relname::text = ANY($2::text[])
  GROUP BY relname ORDER BY relname`;

export async function askedRights(session: Session, schema: string): Promise<Rights> {
  const row = await session.row<RightsRow>(RIGHTS, [schema]);
  const tables = await session.rows<{ name: string; open: boolean }>(TABLES, [schema, [...tableNames]]);
  const none = {
    role: '',
    database: '',
    there: false,
    makesSchemas: false,
    uses: false,
    makesTables: false,
    isFirst: false,
  };
  const closed = tables.filter(({ open }) => !open).map(({ name }) => name);
  return { ...(row ?? none), tables: tables.length, closed };
}

/** What a role may not do that an inbox needs, and what to grant; `null` where nothing is missing. */
export function missingRight(
  { role, database, there, makesSchemas, uses, makesTables, tables, closed }: Rights,
  schema: string,
): { readonly what: string; readonly advice: string } | null {
  const [who, named] = [quoted(role), quoted(schema)];
  const makeThem = 'Run hookbox migrate with a role that can create tables, or allow this role to create them:';
  if (!there) {
    if (makesSchemas) return null;
    const advice = `${makeThem} GRANT CREATE ON DATABASE ${quoted(database)} TO ${who}`;
    return { what: `the role ${who} cannot create the schema ${schema}`, advice };
  }
  const work = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${named} TO ${who}`;
  if (!uses) {
    const advice = `GRANT USAGE ON SCHEMA ${named} TO ${who}; ${work}`;
    return { what: `the role ${who} cannot use the schema ${schema}`, advice };
  }
  if (closed.length > 0) {
    return { what: `the role ${who} cannot read and write ${closed.join(', ')}`, advice: work };
  }
  if (tables < tableNames.length && !makesTables) {
    const advice = `${makeThem} GRANT CREATE ON SCHEMA ${named} TO ${who}`;
    return { what: `the role ${who} cannot create the missing tables`, advice };
  }
  return null;
}
