// @module-tag long
import type Database from 'better-sqlite3';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { SqliteDatabase, SqliteStatement } from '../../src/inbox/sqlite/opening/database.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';

describe('an acceptance', () => {
  it('is not resolved before COMMIT has returned', async () => {
    const seen: { before: number; after: number; inTransaction: boolean }[] = [];
    let accepting: readonly Promise<unknown>[] = [];
    const database = merchantDatabase();
    const watched = withCommit(database, (commit) => {
      const before = settledAmong(accepting);
      const { inTransaction } = database;
      const result = commit();
      // Still inside the call: a promise that was resolved too early would show.
      seen.push({ before, after: settledAmong(accepting), inTransaction });
      return result;
    });
    await using inbox = sqliteInbox({ database: watched });
    accepting = severalIncoming(40).map((event) => inbox.accept(event, later()));
    await Promise.all(accepting);
    expect(seen).toEqual([{ before: 0, after: 0, inTransaction: true }]);
    expect(settledAmong(accepting)).toBe(40); // the way of looking does see what is resolved
  });

  it('of a redelivery is not resolved before COMMIT has returned either', async () => {
    const settledAtCommit: number[] = [];
    let accepting: readonly Promise<unknown>[] = [];
    const watched = withCommit(merchantDatabase(), (commit) => {
      const result = commit();
      settledAtCommit.push(settledAmong(accepting));
      return result;
    });
    await using inbox = sqliteInbox({ database: watched });
    await inbox.accept(incoming(), later());
    settledAtCommit.length = 0;
    accepting = [incoming(), incoming({ body: 'other' })].map((event) => inbox.accept(event, later()));
    await Promise.all(accepting);
    expect(settledAtCommit).toEqual([0]);
  });

  it('comes in portions: each one only after its own COMMIT', async () => {
    const settledAtCommit: number[] = [];
    let accepting: readonly Promise<unknown>[] = [];
    const watched = withCommit(merchantDatabase(), (commit) => {
      const result = commit();
      settledAtCommit.push(settledAmong(accepting));
      return result;
    });
    await using inbox = sqliteInbox({ database: watched });
    accepting = severalIncoming(1_200).map((event) => inbox.accept(event, later()));
    await Promise.all(accepting);
    expect(settledAtCommit.length).toBeGreaterThan(1);
    const stored = (await inbox.list({ limit: 2_000 })).length;
    expect(stored).toBe(1_200);
    expect(settledAtCommit[0]).toBe(0);
    expect(settledAtCommit.every((settled, at) => at === 0 || settled > (settledAtCommit[at - 1] ?? 0))).toBe(true);
    expect(Math.max(...settledAtCommit)).toBeLessThan(1_200);
  });

  it.each(['SQLITE_IOERR_FSYNC', 'SQLITE_FULL'])('is never given when COMMIT fails with %s', async (code) => {
    let broken = true;
    const database = merchantDatabase();
    const watched = withCommit(database, (commit) => {
      if (broken) throw Object.assign(new Error('the disk is failing'), { code });
      return commit();
    });
    await using inbox = sqliteInbox({ database: watched });
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    const deliver = () => Promise.all(['evt_1', 'evt_2'].map((id) => receiver.receive(orderDelivery(id))));
    expect((await deliver()).map(({ status }) => status)).toEqual([503, 503]);
    expect(database.inTransaction).toBe(false);
    expect(await inbox.list()).toEqual([]);

    broken = false;
    expect((await deliver()).map(({ kind }) => kind)).toEqual(['stored', 'stored']);
  });

  it('waits when COMMIT finds the database busy, and is given after the COMMIT that succeeds', async () => {
    let busy = 3;
    const watched = withCommit(merchantDatabase(), (commit) => {
      if (busy > 0) {
        busy -= 1;
        throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
      }
      return commit();
    });
    await using inbox = sqliteInbox({ database: watched });
    const results = await Promise.all(severalIncoming(3).map((event) => inbox.accept(event, later())));
    expect(results.map(({ result }) => result)).toEqual(['stored', 'stored', 'stored']);
    expect(busy).toBe(0);
    expect(await inbox.list()).toHaveLength(3);
  });
});

function withCommit(
  database: Database.Database,
  around: (commit: () => ReturnType<SqliteStatement['run']>) => ReturnType<SqliteStatement['run']>,
): SqliteDatabase {
  return new Proxy<SqliteDatabase>(database, {
    get(target, name) {
      if (name === 'prepare') {
        return (sql: string): SqliteStatement => {
          const statement = target.prepare(sql);
          if (sql.trim() !== 'COMMIT') return statement;
          const watched: SqliteStatement = {
            ...statement,
            safeIntegers: () => watched,
            run: () => around(() => statement.run()),
          };
          return watched;
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function settledAmong(promises: readonly Promise<unknown>[]): number {
  return promises.filter((promise) => !inspect(promise).includes('<pending>')).length;
}
