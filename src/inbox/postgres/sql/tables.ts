/** The tables of an inbox by their full names: nothing depends on the `search_path` of a session. */
export type Tables = Readonly<Record<TableName, string>>;

export const tableNames = [
  'migrations',
  'events',
  'queue',
  'shelf',
  'attempts',
  'entities',
  'handling',
  'redeliveries',
  'conflicts',
  'effects',
  'clock',
  'slots',
  'audit',
  'counts',
  'count_sums',
  'rejected',
  'terms',
  'unindexed',
  'progress',
  'bulks',
  'bulk_events',
  'imported',
  'processors',
  'marks',
  'event_acts',
  'pauses',
] as const;

export type TableName = (typeof tableNames)[number];

export function tablesIn(schema: string): Tables {
  const named = tableNames.map((name) => [name, `${quoted(schema)}.${name}`] as const);
  return Object.fromEntries(named) as Tables; // one for each name
}

/**
 * The row of a table that belongs to another one, for FROM. The LIMIT is what it is about: a join may be planned from one end of
 * the table to the other where its statistics say that it is empty, and such a plan may be kept until it has millions of rows.
 */
export function rowOf(table: string, as: string, where: string): string {
  return `LATERAL (SELECT * FROM ${table} AS found WHERE ${where} LIMIT 1) AS ${as}`;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text as it stands in a statement. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
