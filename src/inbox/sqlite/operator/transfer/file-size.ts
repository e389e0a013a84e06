import type { Transfer } from '../../../operator/transfer.ts';
import type { SqliteDatabase } from '../../opening/database.ts';
import type { Access } from '../access.ts';

export function fileSize(access: Access): Pick<Transfer, 'bytes'> {
  return { bytes: async () => bytesOf(access.database()) };
}

/** All pages of the database, those in the write-ahead log included. */
function bytesOf(database: SqliteDatabase): number {
  const pragma = (name: string): number => Number(database.pragma(name, { simple: true }));
  return pragma('page_count') * pragma('page_size');
}
