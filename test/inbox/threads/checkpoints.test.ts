// @module-tag long
// @module-tag dear
import Database from 'better-sqlite3';
import { existsSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { LogWatch } from '../../../src/inbox/sqlite/opening/checkpoints.ts';
import type { SqliteDatabase } from '../../../src/inbox/sqlite/opening/database.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { LockLender } from '../../../src/inbox/sqlite/threads/write-lock.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { Child } from '../../helpers/child.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { seenThreads, type SeenThread } from './seen-threads.ts';

const MIB = 1024 * 1024;
const MOST = (64 + 12) * MIB;
const EVENTS = 100;

function logOf(file: string): number {
  return statSync(`${file}-wal`).size;
}

async function filled(): Promise<string> {
  const file = scratchFile();
  await using inbox = sqliteInbox(file, { thread: false });
  for (let n = 0; n < EVENTS; n += 1) {
    await inbox.accept(incoming({ id: `evt_${n}`, entity: null, body: `{"n":"${'x'.repeat(MIB)}"}` }), later());
  }
  return file;
}

it.each<[string, readonly string[], boolean, boolean]>([
  ['in their own thread, without a writer', ['operators-thread'], false, false],
  [
    'in their own thread, beside a writer that has nothing to do',
    ['writer-thread', 'operators-thread', 'checkpoint-thread'],
    true,
    false,
  ],
  ['on the event loop, without a writer', [], false, true],
  ['on the event loop, beside a writer that has nothing to do', ['writer-thread', 'checkpoint-thread'], true, true],
])('operators who act on much, %s, keep the log short', async (_, expected, writer, own) => {
  const file = await filled();
  const threads = seenThreads();
  await using inbox = sqliteInbox(file);
  if (writer) await inbox.accept(incoming({ id: 'one more' }), later());
  const options = own ? { entity: () => null } : {};
  for (let n = 0; n < EVENTS; n += 1) {
    await inbox.operations?.act('discard', [{ endpoint: 'default', id: `evt_${n}` }], { actor: 'ada' }, options);
  }
  expect(threads.map(({ entry }) => entry)).toEqual(expected);
  expect((await inbox.list({ limit: 200 })).filter(({ state }) => state === 'discarded')).toHaveLength(EVENTS);
  expect(logOf(file)).toBeLessThan(MOST);
});

it('so does ctx.transaction, beside a writer that has nothing to do', async () => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  for (let n = 0; n < 14; n += 1) await inbox.accept(incoming({ id: `evt_${n}`, entity: null }), later());
  const claimed = await inbox.claim({ ...EVERYTHING, now: Date.now(), leaseMs: 60_000, ordered: false }, 14);
  for (const { lease } of claimed) {
    await inbox.transaction(
      lease,
      (database) => {
        database.exec('CREATE TABLE IF NOT EXISTS own (bytes BLOB)');
        database.prepare('INSERT INTO own VALUES (zeroblob(?))').run(10 * MIB);
      },
      { now: () => Date.now(), signal: new AbortController().signal },
    );
  }
  expect(claimed).toHaveLength(14);
  expect(logOf(file)).toBeLessThan(MOST);
});

describe('beside deliveries', () => {
  const LONG = 100;

  async function deliver(inbox: Inbox, from: number, count: number): Promise<void> {
    const bodies = Array.from({ length: count }, (_, n) => ({
      id: `long_${from + n}`,
      body: `{"n":"${'x'.repeat(MIB)}"}`,
    }));
    const accepted = bodies.map((parts) => inbox.accept(incoming({ ...parts, entity: null }), later()));
    for (const { result } of await Promise.all(accepted)) expect(result).toBe('stored');
  }

  function copying(threads: readonly SeenThread[]): readonly SeenThread[] {
    return threads.filter(({ entry }) => entry === 'checkpoint-thread');
  }

  function pagesLeft(file: string): number {
    const database = new Database(file);
    const [{ log, checkpointed }] = database.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }];
    database.close();
    return log - checkpointed;
  }

  it('another thread copies the log, and the writer begins it anew', async () => {
    const threads = seenThreads();
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    // A commit at that moment holds back its pages: with one body each, fewer than the writer may copy itself.
    for (let n = 0; n < LONG; n += 1) await deliver(inbox, n, 1);
    const [thread] = copying(threads);
    const answers = thread?.heard.filter(({ kind }) => kind === 'answer') ?? [];
    expect(answers).toContainEqual(expect.objectContaining({ result: true }));
    expect(logOf(file)).toBeLessThan(MOST);
  });

  it('a reader who keeps a snapshot lets the log grow, and no longer than that', async () => {
    const threads = seenThreads();
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    await deliver(inbox, 0, 1);
    const reader = new Database(file);
    reader.exec('BEGIN');
    expect(reader.prepare('SELECT count(*) FROM hookbox_events').pluck().get()).toBe(1);
    for (let n = 1; n < LONG; n += 1) await deliver(inbox, n, 1);
    expect(logOf(file)).toBeGreaterThan(LONG * MIB * 0.9);
    expect(copying(threads)[0]?.sent.length).toBeLessThan(25);
    expect(reader.prepare('SELECT count(*) FROM hookbox_events').pluck().get()).toBe(1);
    reader.exec('COMMIT');
    reader.close();
    await deliver(inbox, LONG, 10);
    await expect.poll(() => pagesLeft(file)).toBe(0);
    await deliver(inbox, LONG + 10, 1);
    expect(logOf(file)).toBeLessThan(MOST);
  });

  it('two processes on one file keep the log short together', async () => {
    const file = scratchFile();
    await sqliteInbox(file).close();
    const delivering = new URL('../small-disk.ts', import.meta.url);
    await using one = new Child(delivering, [file, 'thread', 'one']);
    await using other = new Child(delivering, [file, 'thread', 'other']);
    for (const child of [one, other]) {
      expect(await child.line()).toBe('ready');
      child.say('4000');
    }
    for (const child of [one, other]) {
      expect(JSON.parse(await child.line())).toMatchObject({ stored: { length: 4_000 }, refused: [] });
    }
    expect(logOf(file)).toBeLessThan(MOST);
    await Promise.all([one.finish(), other.finish()]);
  }, 60_000);

  it('a thread that dies while it copies leaves the log to the writer, and is started again', async () => {
    const threads = seenThreads();
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    let isKilled = false;
    for (let n = 0; n < 2 * LONG; n += 10) {
      await deliver(inbox, n, 10);
      const [first] = copying(threads);
      if (!isKilled) first?.worker.once('message', () => void first.worker.terminate());
      isKilled = first !== undefined;
    }
    expect(copying(threads).length).toBe(2);
    expect(logOf(file)).toBeLessThan(MOST);
  });

  it('where no such thread starts, the writer copies the log', async () => {
    const log = recordedLog();
    const threads = seenThreads((entry, thread) =>
      thread === 'checkpoint-thread' ? entry.replace('hookbox-thread', 'no-such-thread') : entry,
    );
    const file = scratchFile();
    await using inbox = sqliteInbox(file, { logger: log.logger });
    for (let n = 0; n < LONG; n += 10) await deliver(inbox, n, 10);
    expect(threads.map(({ entry }) => entry)).toEqual(['writer-thread', 'checkpoint-thread']);
    expect(logOf(file)).toBeLessThan(MOST);
    expect(log.lines).toEqual([]);
  });

  it('an inbox that is closed while the log is copied has stored everything, and leaves no log', async () => {
    const threads = seenThreads();
    const file = scratchFile();
    const inbox = sqliteInbox(file);
    let stored = 0;
    for (; copying(threads).length === 0; stored += 10) await deliver(inbox, stored, 10);
    const last = deliver(inbox, stored, 10);
    await inbox.close();
    await last;
    expect(threads.map(({ worker }) => worker.threadId)).toEqual([-1, -1]);
    expect(existsSync(`${file}-wal`)).toBe(false);
    const database = new Database(file);
    expect(database.pragma('quick_check', { simple: true })).toBe('ok');
    expect(database.prepare('SELECT count(*) FROM hookbox_events').pluck().get()).toBe(stored + 10);
    database.close();
  });
});

const PAGE_BYTES = 4_096;
const MOST_PAGES = 800;

function watched() {
  const log = { pages: 0, copied: 0, isBusy: false, reader: false, fault: false };
  const did: string[] = [];
  const pragma = (source: string): unknown => {
    if (log.fault) throw new Error('the disk fails');
    if (source === 'page_size') return PAGE_BYTES;
    if (source === 'journal_size_limit') return 2 * MOST_PAGES * PAGE_BYTES;
    const mode = /\((\w+)\)/.exec(source)?.[1] ?? '';
    if (mode !== 'NOOP') did.push(mode);
    const busy = Number(mode !== 'NOOP' && log.isBusy);
    if (mode !== 'NOOP' && !log.isBusy && !log.reader) log.copied = log.pages;
    return [{ busy, log: log.pages, checkpointed: log.copied }];
  };
  const database = { pragma } as unknown as SqliteDatabase;
  const lock = new LockLender();
  const watch = new LogWatch(
    () => database,
    lock,
    () => did.push('asked'),
  );
  const write = (pages: number): void => {
    if (log.pages === log.copied && !log.reader) log.pages = log.copied = 0;
    log.pages += pages;
    watch.look();
  };
  return { log, did, lock, watch, write };
}

it('asks once for a long log to be copied, and begins it anew when most is', () => {
  const { log, did, watch, write } = watched();
  for (let n = 0; n < MOST_PAGES; n += 100) write(100);
  write(100);
  expect(did).toEqual(['asked']);
  log.copied = 850;
  watch.copied(true);
  expect(did).toEqual(['asked', 'FULL']);
  write(MOST_PAGES - 1);
  expect(log.pages).toBe(MOST_PAGES - 1);
  expect(did).toHaveLength(2);
  write(1);
  expect(did.slice(2)).toEqual(['asked']);
});

it('copies a log itself that has become twice as long, as long as nobody else does', () => {
  const { did, lock, write } = watched();
  write(MOST_PAGES);
  write(MOST_PAGES - 1);
  expect(did).toEqual(['asked']);
  write(1);
  expect(did).toEqual(['asked', 'PASSIVE']);
  expect(lock.isLent).toBe(false);
});

it('waits at twice the length for whoever copies it', () => {
  const { log, did, lock, watch, write } = watched();
  write(MOST_PAGES);
  log.isBusy = true;
  write(MOST_PAGES);
  expect(lock.isLent).toBe(true);
  const parked: string[] = [];
  lock.run(() => parked.push('a group'));
  expect(parked).toEqual([]);
  log.isBusy = false;
  watch.copied(true);
  expect(parked).toEqual(['a group']);
  expect(lock.isLent).toBe(false);
  expect(did).toEqual(['asked', 'PASSIVE', 'FULL']);
});

it('does not wait for an answer that came before the lock was back', () => {
  const { log, lock, watch, write } = watched();
  write(MOST_PAGES);
  log.isBusy = true;
  let giveBack = (): void => {};
  lock.lend((back) => (giveBack = back));
  write(MOST_PAGES);
  log.isBusy = false;
  watch.copied(true);
  giveBack();
  expect(lock.isLent).toBe(false);
});

it('leaves a log alone that somebody reads, and asks again an eighth later', () => {
  const { log, did, watch, write } = watched();
  log.reader = true;
  write(MOST_PAGES);
  for (let asked = 1; asked < 20; asked += 1) {
    watch.copied(false);
    write(MOST_PAGES / 8 - 1);
    expect(did).toHaveLength(asked);
    write(1);
    expect(did).toHaveLength(asked + 1);
  }
  expect(new Set(did)).toEqual(new Set(['asked']));
  log.reader = false;
  watch.copied(true);
  write(1);
  expect(log.pages).toBe(1);
});

it('a log that somebody else has begun anew is short again', () => {
  const { log, did, watch, write } = watched();
  log.reader = true;
  write(5 * MOST_PAGES);
  watch.copied(false);
  log.pages = log.copied = 0;
  log.reader = false;
  write(MOST_PAGES - 1);
  expect(did).toEqual(['asked']);
  write(1);
  expect(did).toEqual(['asked', 'asked']);
});

it('asks again after a failure of the file, which the next commit reports', () => {
  const { log, did, watch, write } = watched();
  write(MOST_PAGES);
  log.fault = true;
  watch.copied(true);
  write(1);
  log.fault = false;
  write(1);
  expect(did).toEqual(['asked', 'asked']);
});
