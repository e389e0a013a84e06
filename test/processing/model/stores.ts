import Database from 'better-sqlite3';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Inbox } from '../../../src/inbox/contract.ts';
import type { EventKey } from '../../../src/inbox/event.ts';
import { memoryInbox } from '../../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox as threadedInbox, type SqliteDatabase } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { emptyInbox } from '../../helpers/emptied-inbox.ts';
import { sqliteInbox } from '../../helpers/inbox-on-loop.ts';

/** Values that memory hides are `null`. */
export interface StoredRow extends EventKey {
  readonly seq: number;
  readonly state: string;
  readonly deadReason: string | null;
  readonly entity: string | null;
  readonly createdMs: number | null;
  readonly body: Uint8Array | null;
  readonly leased: boolean | null;
  readonly work: {
    readonly dueAt: number;
    readonly failures: number;
    readonly crashes: number;
    readonly fence: number;
    readonly leaseUntil: number | null;
  } | null;
}

export interface Store {
  readonly inboxes: readonly Inbox[];
  rows(): Promise<readonly StoredRow[]>;
  writeEffect(database: SqliteDatabase, id: string): void | Promise<void>;
  loseConnection(database: SqliteDatabase): void | Promise<void>;
  effects(): Promise<readonly string[]>;
  /** Deletes the row that says where an event is; absent if the event would go with it. */
  takeAway?(seq: number): Promise<void>;
  numbersGoOnFrom?(seq: number): Promise<void>;
}

/** Conditions in SQL, about `OLD` and `NEW`, under which an update is skipped. */
export interface Undone {
  readonly sqlite: string;
  readonly postgres: string;
}

export interface StoreFault {
  readonly undone?: Undone;
  readonly rewritten?: (text: string) => string;
}

export interface StoreKind extends AsyncDisposable {
  empty(fault?: StoreFault): Promise<Store>;
}

function noConnection(): never {
  throw new Error('inside the transaction');
}

function memoryStores(): StoreKind {
  return {
    async empty() {
      const inbox = memoryInbox();
      const effects: string[] = [];
      return {
        inboxes: [inbox],
        async rows() {
          const events = await inbox.list({ limit: 1_000 });
          return events.map((event) => ({ ...event, createdMs: event.created?.ms ?? null, leased: null, work: null }));
        },
        writeEffect: (_, id) => void effects.push(id),
        loseConnection: noConnection,
        effects: async () => effects,
      };
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Opening a file takes longer than a history, so all histories share one. */
function sqliteStores(inboxIn: typeof sqliteInbox): StoreKind {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'hookbox-model-'));
  const file = join(folder, 'shop.db');
  const inboxes = [inboxIn(file), inboxIn(file)];
  const own = new Database(file);
  // No unique constraint: a duplicate must be visible.
  own.exec('CREATE TABLE effects (id TEXT NOT NULL)');
  const allRows = own.prepare(`
    SELECT seq, endpoint, id, state, dead_reason, entity, created_ms, body, due_ms, failures, crashes, fence, lease_until_ms
    FROM hookbox_events ORDER BY seq
  `);
  const allEffects = own.prepare('SELECT id FROM effects').pluck();
  const version = own.prepare('PRAGMA data_version').pluck();
  let read: { readonly at: unknown; readonly rows: readonly StoredRow[] } | null = null;
  const store: Store = {
    inboxes,
    async rows() {
      const at = version.get();
      if (read === null || read.at !== at) read = { at, rows: readRows() };
      return read.rows;
    },
    writeEffect: (database, name) => void database.prepare('INSERT INTO effects (id) VALUES (?)').run(name),
    loseConnection: noConnection,
    effects: async () => allEffects.all() as string[],
  };
  function readRows(): StoredRow[] {
    return allRows.all().map((found) => {
      const row = found as Columns;
      return {
        seq: row.seq,
        endpoint: row.endpoint,
        id: row.id,
        state: row.state,
        deadReason: row.dead_reason,
        entity: row.entity,
        createdMs: row.created_ms,
        body: row.body,
        leased: row.lease_until_ms !== null,
        work: {
          dueAt: row.due_ms,
          failures: row.failures,
          crashes: row.crashes,
          fence: row.fence,
          leaseUntil: row.lease_until_ms,
        },
      };
    });
  }
  return {
    async empty({ undone } = {}) {
      read = null;
      own.exec('DROP TRIGGER IF EXISTS undone');
      own.exec('DELETE FROM effects');
      emptyInbox(own);
      if (undone !== undefined) {
        own.exec(
          `CREATE TRIGGER undone BEFORE UPDATE ON hookbox_events WHEN ${undone.sqlite} BEGIN SELECT RAISE(IGNORE); END`,
        );
      }
      return store;
    },
    async [Symbol.asyncDispose]() {
      own.close();
      for (const inbox of inboxes) void inbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const storeKinds = [
  { name: 'memory', open: memoryStores },
  { name: 'sqlite', open: () => sqliteStores(sqliteInbox) },
] as const;

export const threaded = { name: 'threads', open: () => sqliteStores(threadedInbox) } as const;

interface Columns {
  readonly seq: number;
  readonly endpoint: string;
  readonly id: string;
  readonly state: string;
  readonly dead_reason: string | null;
  readonly entity: string | null;
  readonly created_ms: number | null;
  readonly body: Uint8Array | null;
  readonly due_ms: number;
  readonly failures: number;
  readonly crashes: number;
  readonly fence: number;
  readonly lease_until_ms: number | null;
}
