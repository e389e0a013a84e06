import { ConfigurationError } from '../../../errors.ts';
import type { Operations } from '../../contract.ts';
import { operationsOn } from '../../operator/operations.ts';
import { tableNames } from '../sql/tables.ts';
import { countEngine } from './counts.ts';
import type { Access } from './access.ts';
import { databaseFaults } from './database-faults.ts';
import { pruningEngine } from './prunable-events.ts';
import { indexNew, searchIndexes } from './search-indexes.ts';
import { operatorTables } from './tables.ts';
import { waits } from './waits.ts';

export function postgresOperations(access: Access, schema: string): Operations {
  const { store, ask } = access;
  const { database, t } = store;
  const tables = operatorTables(access);
  return {
    ...operationsOn(tables, {
      search: {
        indexNew: (limit, upTo, signal) => ask(() => indexNew(database.until(signal), t, limit, upTo)),
        indexes: (reader) => searchIndexes(reader, t),
        // A statement does not block a processor.
        groupsAtOnce: { counted: 100, shown: 200 },
      },
      waits: waits(access, tables),
      pruning: pruningEngine(t),
      // Numbers are assigned before the commit, and the log belongs to the whole server.
      erasing: { notesInOrder: false, emptyLog: async () => null },
      erasingTables: tables,
      counts: countEngine(access),
    }),
    async bytes() {
      const names = tableNames.map((name) => t[name]);
      const text = `SELECT sum(pg_total_relation_size(name::regclass))::bigint AS bytes FROM unnest($1::text[]) AS names (name)`;
      const row = await ask(() => database.read((session) => session.row<{ bytes: number }>(text, [names])));
      return row?.bytes ?? 0;
    },
    databaseFaults: () => ask(() => database.read((session) => databaseFaults(session, schema))),
    async backup() {
      throw new ConfigurationError(
        'INVALID_OPTION',
        'To back up an inbox in Postgres, back up its database, for example with pg_dump. To move the inbox to a different database, export it.',
      );
    },
  };
}
