import Database from 'better-sqlite3';
import { orderBody } from '../../helpers/order-delivery.ts';

export const DATABASE = 'shop.db';
export const ACKNOWLEDGED = 'acknowledged';

const bodies = new Map<string, Buffer>();

export function bodyOf(id: string): Buffer {
  const known = bodies.get(id);
  if (known !== undefined) return known;
  const size = [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 6_000, 0);
  const body = Buffer.from(orderBody(id).padEnd(size));
  bodies.set(id, body);
  return body;
}

/** Who may only read copies nothing out of the log on leaving; who may not cannot roll back a journal. */
export function look(
  file: string,
  readonly: boolean,
): { readonly soundness: unknown; readonly kept: ReadonlySet<string> } {
  const database = new Database(file, { readonly });
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
