import Database from 'better-sqlite3';
import { renameSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { readiness } from '../../src/ops/health.ts';
import { Child } from '../helpers/child.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testHealth } from './health.conformance.ts';

const PINGING = new URL('pinging-process.ts', import.meta.url);
const report = z.object({
  stored: z.number(),
  refused: z.number(),
  readiness: z.object({ ready: z.boolean(), why: z.string().optional() }),
});

function opened(file = scratchFile()) {
  const database = merchantDatabase(file);
  const inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
  return { database, inbox, file };
}

testHealth('the health of an inbox in SQLite', async () => {
  const file = scratchFile();
  const executed: string[] = [];
  const database = merchantDatabase(file, { verbose: (sql) => executed.push(String(sql)) });
  const inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
  const tables = ['hookbox_events', 'hookbox_counts', 'hookbox_count_sums', 'hookbox_rejected', 'hookbox_progress'];
  return {
    inbox,
    rows: async () =>
      tables.map((table) => database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0),
    async hold() {
      const holder = new Database(file);
      onTestFinished(() => void holder.close());
      holder.exec('BEGIN IMMEDIATE');
      return async () => void holder.exec('COMMIT');
    },
    probed: () => executed.filter((sql) => sql.startsWith('DELETE')).length,
  };
});

describe('an inbox that can store', () => {
  it('does not grow with how often it is asked', async () => {
    const { database, inbox } = opened();
    await readiness(inbox);
    const pages = database.pragma('page_count', { simple: true });
    for (let n = 0; n < 100; n += 1) await readiness(inbox);
    expect(database.pragma('page_count', { simple: true })).toBe(pages);
  });

  it('writes to the disk each time: what is only tried and rolled back says nothing about it', async () => {
    const { inbox, file } = opened();
    const reader = new Database(file);
    onTestFinished(() => void reader.close());
    const version = () => reader.pragma('data_version', { simple: true });
    const before = version();
    await readiness(inbox);
    expect(version()).not.toBe(before);
  });
});

describe('an inbox that cannot store', () => {
  it('is not ready after two seconds in a transaction of the merchant', async () => {
    const { database, inbox } = opened();
    database.exec('BEGIN');
    expect(await readiness(inbox)).toEqual({
      ready: false,
      code: 'DEADLINE',
      why: 'the database stayed locked for 2 s',
    });
    database.exec('COMMIT');
    expect(await readiness(inbox)).toEqual({ ready: true, unhandled: [], warnings: [] });
  });

  it('is not ready while the database may only be read', async () => {
    const { database, inbox } = opened();
    database.pragma('query_only = 1');
    expect(await readiness(inbox)).toEqual({
      ready: false,
      code: 'FAILED',
      why: 'attempt to write a readonly database (SQLITE_READONLY)',
    });
    database.pragma('query_only = 0');
    expect(await readiness(inbox)).toEqual({ ready: true, unhandled: [], warnings: [] });
  });

  it('is not ready while the database has no room for another event', async () => {
    const { database, inbox } = opened();
    database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true }))}`);
    expect(await readiness(inbox)).toEqual({
      ready: false,
      code: 'FAILED',
      why: 'database or disk is full (SQLITE_FULL)',
    });
    expect(database.inTransaction).toBe(false);
    database.pragma('max_page_count = 100000');
    expect(await readiness(inbox)).toEqual({ ready: true, unhandled: [], warnings: [] });
  });

  it.skipIf(process.platform === 'win32')('is not ready while its disk takes no more', async () => {
    const file = scratchFile();
    const around = ['/bin/sh', '-c', 'ulimit -f 900; exec "$@"', 'sh'];
    await using child = new Child(PINGING, [file], around);
    expect(await child.line()).toBe('ready');
    const ask = async (deliveries: number) => {
      child.say(String(deliveries));
      return report.parse(JSON.parse(await child.line()));
    };
    expect((await ask(5)).readiness).toEqual({ ready: true });
    const full = await ask(5_000);
    expect(full.refused).toBe(10);
    expect(full.readiness.ready).toBe(false);
    // An operator without that limit empties the log into the database, so that the log has room again.
    const operator = new Database(file);
    operator.pragma('wal_checkpoint(TRUNCATE)');
    operator.close();
    expect(await ask(1)).toMatchObject({ refused: 0, readiness: { ready: true } });
    await child.finish();
  });

  it('says which file is gone', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    expect(await readiness(inbox)).toEqual({ ready: true, unhandled: [], warnings: [] });
    renameSync(file, `${file}.away`);
    expect(await readiness(inbox)).toMatchObject({
      ready: false,
      code: 'FAILED',
      why: `${file} is gone. Put the file back: it contains your events.`,
    });
    renameSync(`${file}.away`, file);
    expect(await readiness(inbox)).toEqual({ ready: true, unhandled: [], warnings: [] });
  });

  it('is not ready once it is closed', async () => {
    const { inbox } = opened();
    await inbox.close();
    expect(await readiness(inbox)).toEqual({ ready: false, code: 'CLOSED', why: 'the inbox is closed' });
  });
});
