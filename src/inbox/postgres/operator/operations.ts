import { ConfigurationError } from '../../../errors.ts';
import { audit } from '../../operator/audit.ts';
import { bulks } from '../../operator/bulks.ts';
import { counts } from '../../operator/counts.ts';
import { erasing } from '../../operator/erasing.ts';
import { exporting } from '../../operator/export.ts';
import { search as searchOf } from '../../operator/finding/find-page.ts';
import type { Operations } from '../../contract.ts';
import { pruning } from '../../operator/pruning.ts';
import type { Search } from '../../operator/search.ts';
import type { Transfer } from '../../operator/transfer.ts';
import { deadGroups } from '../../operator/dead-groups.ts';
import { marks } from '../../operator/marks.ts';
import { pauses } from '../../operator/pauses.ts';
import type { OperatorTables } from '../../operator/sql.ts';
import { tableNames } from '../sql/tables.ts';
import { actsOnEvents, bulkEngine } from './acts.ts';
import { countEngine } from './counts.ts';
import { type Access, operatorTables } from './operator-tables.ts';
import { erasingEngine, pruningEngine } from './removal.ts';
import { indexNew, searchIndexes } from './search-indexes.ts';
import { waits } from './waits.ts';
import { importing } from './importing.ts';

export function postgresOperations(access: Access): Operations {
  const tables = operatorTables(access);
  const found = search(access, tables);
  return {
    ...found,
    ...waits(access, tables),
    ...actsOnEvents(access),
    ...bulks(tables, bulkEngine(access)),
    ...pauses(tables),
    ...audit(tables),
    ...pruning(pruningEngine(access)),
    ...erasing(tables, erasingEngine(access)),
    ...exporting(tables, (...given) => found.search(...given)),
    ...importing(access),
    ...copies(access),
    ...counts(tables, countEngine(access)),
    ...marks(tables),
  };
}

/** An inbox in Postgres is copied as the rest of the database is. */
function copies({ store, ask }: Access): Pick<Transfer, 'bytes' | 'backup'> {
  const { database, t } = store;
  return {
    async bytes() {
      const tables = tableNames.map((name) => t[name]);
      const text = `SELECT sum(pg_total_relation_size(name::regclass))::bigint AS bytes FROM unnest($1::text[]) AS names (name)`;
      const row = await ask(() => database.read((session) => session.row<{ bytes: number }>(text, [tables])));
      return row?.bytes ?? 0;
    },
    async backup() {
      throw new ConfigurationError(
        'INVALID_OPTION',
        'To back up an inbox in Postgres, back up its database, for example with pg_dump. To move the inbox to a different database, export it.',
      );
    },
  };
}

function search({ store, ask }: Access, tables: OperatorTables): Search {
  return {
    ...searchOf(tables, {
      indexNew: (limit, upTo, signal) => ask(() => indexNew(store.database.until(signal), store.t, limit, upTo)),
      indexes: (reader) => searchIndexes(reader, store.t),
    }),
    // No other statement of the server waits for its processor for long.
    ...deadGroups(tables, { counted: 100, shown: 200 }),
  };
}
