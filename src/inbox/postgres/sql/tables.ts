import { createHash } from 'node:crypto';
import { ConfigurationError } from '../../../errors.ts';

/** Full names, whatever the `search_path` is. */
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
  'steps',
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
  'breakers',
  'rates',
  'acknowledged',
] as const;

type TableName = (typeof tableNames)[number];

export function tablesIn(schema: string): Tables {
  const named = tableNames.map((name) => [name, `${quoted(schema)}.${name}`] as const);
  return Object.fromEntries(named) as Tables; // one for each name
}

/** For FROM. Without the LIMIT, Postgres may plan to read the whole table, because statistics say that it is empty. */
export function rowOf(table: string, as: string, where: string): string {
  return `LATERAL (SELECT * FROM ${table} AS found WHERE ${where} LIMIT 1) AS ${as}`;
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Postgres allows 2,704 bytes for all columns of an index. */
const MOST = 150;
const HASHED = '\u0001h';
// oxlint-disable-next-line no-control-regex -- hashes begin with it
const HASH = /^\u0001h[\w-]{43}$/;

/**
 * The text, or the hash of a long text. A sender's text that looks like a hash only shares a queue.
 */
export function toKey(text: string): string {
  if (isHash(text)) return text; // of a row, on its way back
  return text.length <= MOST ? text : `${HASHED}${createHash('sha256').update(text).digest('base64url')}`;
}

export function isHash(key: string): boolean {
  return HASH.test(key);
}

export function keyOrNull(text: string | null): string | null {
  return text === null ? null : toKey(text);
}

/**
 * A transaction holds the lock of an event's slot, so its decision is still true when it is written. Rows for entities
 * would have to
 * be created first, and would make transactions wait. Claims skip locked slots.
 */
export const SLOTS = 4_096;

/** The slot of its entity, or a slot for this event alone. */
export function slotOf(endpoint: string, entity: string | null, id: string): number {
  return entity === null ? hash(`${endpoint}\0\0${id}`) : hash(`${endpoint}\0${entity}`);
}

/** FNV-1a, which every version must keep. */
function hash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % SLOTS;
}

/** Postgres cuts names to this many bytes. */
const MOST_OF_A_NAME = 63;

/** @throws ConfigurationError `INVALID_OPTION` */
export function assertSchema(schema: unknown): void {
  const bytes = typeof schema === 'string' ? Buffer.byteLength(schema) : 0;
  if (bytes > 0 && bytes <= MOST_OF_A_NAME && !String(schema).includes('\0')) return;
  throw new ConfigurationError(
    'INVALID_OPTION',
    `schema must be a name of 1 to ${MOST_OF_A_NAME} bytes, not ${typeof schema === 'string' ? `one of ${bytes}` : typeof schema}.`,
  );
}

/** The keys that come from a sequence. */
const NUMBERED: Partial<Record<TableName, string>> = {
  events: 'seq',
  audit: 'seq',
  rejected: 'seq',
  bulks: 'id',
  marks: 'seq',
};

/** Numbers of events are never reused. */
const OF_EVENTS = ['events', 'queue', 'shelf', 'attempts', 'imported'] as const;

export interface Sequence {
  readonly table: TableName;
  readonly name: string;
  /** 0 for none */
  readonly stored: string;
}

export function sequencesOf(t: Tables): readonly Sequence[] {
  return tableNames.flatMap((table) => {
    const column = NUMBERED[table];
    return column === undefined ? [] : [sequenceOf(t, table, column)];
  });
}

export function sequenceOf(t: Tables, table: TableName, column: string): Sequence {
  const highest = (table === 'events' ? OF_EVENTS : [table]).map((of) => `(SELECT max(${column}) FROM ${t[of]})`);
  const name = `pg_get_serial_sequence(${literal(t[table])}, ${literal(column)})`;
  return { table, name, stored: `greatest(${highest.join(', ')}, 0)` };
}

export function mayLook({ name }: Sequence): string {
  return `(${['SELECT', 'USAGE'].map((right) => `has_sequence_privilege(${name}, '${right}')`).join(' OR ')})`;
}

/** NULL without one, or if this role has no right to look. */
export function lastNumber(sequence: Sequence): string {
  return `CASE WHEN ${mayLook(sequence)} THEN pg_sequence_last_value(${sequence.name}::regclass) END`;
}

export function wordsOfTaken(sequence: Sequence): string {
  return (
    `the table ${sequence.table} already contains the next number of its sequence (23505, ` +
    `${sequence.table}_pkey), for example after a restore or replication that left out sequences. Run: ` +
    goOnBehind(sequence)
  );
}

export function goOnBehind({ name, stored }: Sequence): string {
  return `SELECT setval(${name}, greatest(${stored}, 1))`;
}

export function sequenceOfKey(t: Tables, constraint: string): Sequence | undefined {
  return sequencesOf(t).find(({ table }) => constraint === `${table}_pkey`);
}
