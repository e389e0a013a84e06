import { isMisread, shownDatabase, TO_BE_ESCAPED } from '../../../host/postgres-url.ts';
import type { PostgresSource } from '../driver/connections.ts';

/** Where connections of a source go, for people: host, port and database, and never a user or a password; `null` for who knows. */
export function placeOf(source: PostgresSource): string | null {
  if (typeof source === 'string') return placeOfUrl(source);
  if (!('pool' in source)) return null;
  const options: unknown = Reflect.get(source.pool, 'options');
  if (typeof options !== 'object' || options === null) return null;
  const url: unknown = Reflect.get(options, 'connectionString');
  if (typeof url === 'string') return placeOfUrl(url);
  const { host = process.env['PGHOST'], port = 5432, database }: Readonly<Record<string, unknown>> = { ...options };
  if (typeof host !== 'string')
    return 'localhost, because the pool has neither a connectionString nor a host. Is DATABASE_URL set?';
  return `${shownDatabase(host)}, port ${String(port)}${typeof database === 'string' ? `, database ${shownDatabase(database)}` : ''}`;
}

function placeOfUrl(url: string): string {
  return isMisread(url) ? `${shownDatabase(url)}. ${TO_BE_ESCAPED}` : shownDatabase(url);
}
