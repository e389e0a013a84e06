/** The tables of an inbox by their full names: nothing depends on the `search_path` of a session. */
export type Tables = Readonly<Record<TableName, string>>;

export const tableNames = [
  'migrations',
  'events',
  'queue',
  'shelf',
  'attempts',
  'entities',
  'takers',
  'redeliveries',
  'conflicts',
  'effects',
  'clock',
  'slots',
] as const;

export type TableName = (typeof tableNames)[number];

export function tablesIn(schema: string): Tables {
  const named = tableNames.map((name) => [name, `${quoted(schema)}.${name}`] as const);
  return Object.fromEntries(named) as Tables; // one for each name
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
