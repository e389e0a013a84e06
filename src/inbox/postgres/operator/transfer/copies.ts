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
        'An inbox in Postgres is backed up with its database: by pg_dump, which copies its schema as of one moment, or as the ' +
          'database itself is. To move it elsewhere, export it.',
      );
    },
  };
}
