import type { SqliteDatabase } from './opening/database.ts';
import type { EventIndex } from './engine/event-index.ts';
import { prepareNamedStatements } from './sql/named-statements.ts';
import { sqliteStore } from './engine/sqlite-store.ts';

export type Statements = ReturnType<typeof prepareStatements>;

/** Every statement of the inbox, and what the rules ask for, prepared once for a connection. */
export function prepareStatements(database: SqliteDatabase, index: EventIndex) {
  const statements = prepareNamedStatements(database);
  return { ...statements, store: sqliteStore(statements, index) };
}
