import Database from 'better-sqlite3';
import { orderBody } from '../../helpers/order-delivery.ts';

export const DATABASE = 'shop.db';
export const ACKNOWLEDGED = 'acknowledged';

export function bodyOf(id: string): Buffer {
  const size = [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9_000, 0);
  return Buffer.from(orderBody(id).padEnd(size));
}

export function look(file: string): { readonly soundness: unknown; readonly kept: ReadonlySet<string> } {
  const database = new Database(file);
  try {
    database.pragma('synchronous = OFF');
    const soundness = database.pragma('quick_check', { simple: true });
    const kept = new Set<string>();
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all();
    if (tables.includes('hookbox_events')) {
      const events = database.prepare('SELECT id, body, state FROM hookbox_events');
      for (const { id, body, state } of events.all() as { id: string; body: Buffer; state: string }[]) {
        if (!body.equals(bodyOf(id))) continue;
        kept.add(`stored ${id}`);
        if (state === 'processed') kept.add(`settled ${id}`);
      }
    }
    if (tables.includes('effects')) {
      for (const id of database.prepare('SELECT id FROM effects').pluck().all() as string[]) {
        if (kept.has(`settled ${id}`)) kept.add(`effect ${id}`);
      }
    }
    return { soundness, kept };
  } finally {
    database.close();
  }
}
