import { literal, tableNames, type TableName, type Tables } from './tables.ts';

/** The column of each table whose numbers a sequence gives out, and are its key. (Counts have the minute in it, too.) */
const NUMBERED: Partial<Record<TableName, string>> = {
  events: 'seq',
  audit: 'seq',
  rejected: 'seq',
  bulks: 'id',
  marks: 'seq',
};

/** Rows of these belong to a number of an event: it must not be given out again, even if that has gone. */
const OF_EVENTS = ['events', 'queue', 'shelf', 'attempts', 'imported'] as const;

/** A sequence, as statements name it, and the highest number that is stored. */
export interface Sequence {
  readonly table: TableName;
  /** SQL that gives it as text */
  readonly name: string;
  /** SQL that gives it; 0 for none */
  readonly stored: string;
}

export function sequencesOf(t: Tables): readonly Sequence[] {
  return tableNames.flatMap((table) => {
    const column = NUMBERED[table];
    return column === undefined ? [] : [sequenceOf(t, table, column)];
  });
}

/** That of a column of a table. */
export function sequenceOf(t: Tables, table: TableName, column: string): Sequence {
  const highest = (table === 'events' ? OF_EVENTS : [table]).map((of) => `(SELECT max(${column}) FROM ${t[of]})`);
  const name = `pg_get_serial_sequence(${literal(t[table])}, ${literal(column)})`;
  return { table, name, stored: `greatest(${highest.join(', ')}, 0)` };
}

/** SQL that says whether this role may look at it. */
export function mayLook({ name }: Sequence): string {
  return `(${['SELECT', 'USAGE'].map((right) => `has_sequence_privilege(${name}, '${right}')`).join(' OR ')})`;
}

/** SQL that gives the last number that was given out; `null` where there was none, and for a role that may not look. */
export function lastNumber(sequence: Sequence): string {
  return `CASE WHEN ${mayLook(sequence)} THEN pg_sequence_last_value(${sequence.name}::regclass) END`;
}

/** The message about a sequence that gives out a number again. */
export function wordsOfTaken(sequence: Sequence): string {
  return (
    `the table ${sequence.table} already contains the next number of its sequence (23505, ` +
    `${sequence.table}_pkey), for example after a restore or replication that left out sequences. Run: ` +
    goOnBehind(sequence)
  );
}

/** The line of SQL that makes a sequence continue after the stored numbers. */
export function goOnBehind({ name, stored }: Sequence): string {
  return `SELECT setval(${name}, greatest(${stored}, 1))`;
}

/** Of the primary key of such a table; `undefined` for another constraint. */
export function sequenceOfKey(t: Tables, constraint: string): Sequence | undefined {
  return sequencesOf(t).find(({ table }) => constraint === `${table}_pkey`);
}
