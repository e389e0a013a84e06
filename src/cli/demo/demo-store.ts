import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import type { Inbox } from '../../inbox/contract.ts';
import { openConnection } from '../../inbox/sqlite/opening/better-sqlite.ts';
import { sqliteInbox } from '../../inbox/sqlite/sqlite-inbox.ts';

/** Where the demo keeps its events, and what its handlers write beside them. Gone when it is disposed of, at any time. */
export interface DemoStore extends AsyncDisposable {
  /** as a person reads it */
  readonly place: string;
  open(): Inbox;
  /** Writes through `ctx.transaction`. */
  writeEffect(connection: unknown, id: string): unknown;
  effects(): Promise<{ readonly effects: number; readonly events: number }>;
}

export function demoFolder(): string {
  return mkdtempSync(join(tmpdir(), 'hookbox-demo-'));
}

export function sqliteStore(): DemoStore {
  const folder = demoFolder();
  const file = join(folder, 'inbox.db');
  return {
    place: file,
    open: () => sqliteInbox(file),
    writeEffect(connection, id) {
      const database = connection as BetterSqlite3.Database; // of an inbox in SQLite
      database.exec('CREATE TABLE IF NOT EXISTS demo_effects (event_id TEXT)');
      database.prepare('INSERT INTO demo_effects (event_id) VALUES (?)').run(id);
    },
    async effects() {
      const database = openConnection(file, { readonly: true });
      const counted = database
        .prepare('SELECT count(*) AS effects, count(DISTINCT event_id) AS events FROM demo_effects')
        .get();
      database.close();
      return counted as { effects: number; events: number }; // the columns of the statement
    },
    async [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
