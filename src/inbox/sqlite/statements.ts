import type { SqliteDatabase } from './database.ts';
import type { EventIndex } from './event-index.ts';
import { prepareNamedStatements } from './named-statements.ts';
import { sqliteEngine } from './sqlite-engine.ts';

export type Statements = ReturnType<typeof prepareStatements>;

/** Every statement of the inbox, and what the rules ask for, prepared once for a connection. */
export function prepareStatements(database: SqliteDatabase, index: EventIndex) {
  const statements = prepareNamedStatements(database);
  return { ...statements, engine: sqliteEngine(statements, index) };
}
