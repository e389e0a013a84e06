import { ConfigurationError } from '../../../../errors.ts';
import type { Transfer } from '../../../operator/transfer.ts';
import { tableNames } from '../../sql/tables.ts';
import type { Access } from '../access.ts';

/** An inbox in Postgres is copied as the rest of the database is. */
export function copies({ store, ask }: Access): Pick<Transfer, 'bytes' | 'backup'> {
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
