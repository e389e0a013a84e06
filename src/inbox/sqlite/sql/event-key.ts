import { hash } from 'node:crypto';
import type { SqliteDatabase } from '../opening/database.ts';

/** What a sender cannot foresee: the file has a key of its own, so nobody makes ids collide on purpose. */
export function hashOfId(key: string, id: string): number {
  // 48 bits: a whole number of JavaScript, and six bytes of an index.
  return hash('sha256', key + id, 'buffer').readUIntBE(0, 6);
}

/** Gives a connection the function `hookbox_id_hash(id)`, which statements that find an event by its key use. */
export function defineIdHash(database: SqliteDatabase): void {
  const row = database.prepare('SELECT key FROM hookbox_id_key').get() as { key: string };
  database.function('hookbox_id_hash', { deterministic: true }, (id: unknown) => hashOfId(row.key, String(id)));
}

/**
 * Finds an event by its key: the hash by its index, and among the few rows of one hash the key itself.
 *
 * @param id - the parameter with the id, `endpoint` that with the endpoint
 */
export function keyIs(id = ':id', endpoint = ':endpoint'): string {
  return `id_hash = hookbox_id_hash(${id}) AND id = ${id} AND endpoint = ${endpoint}`;
}
