// @module-tag repeated
// @module-tag dear
import Database from 'better-sqlite3';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { InboxUnavailableError } from '../../../src/errors.ts';
import type { SqliteDatabase } from '../../../src/inbox/sqlite/opening/database.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { LockBorrower, LockLender } from '../../../src/inbox/sqlite/threads/write-lock.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { Child } from '../../helpers/child.ts';
import { incoming, later, severalIncoming } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { merchantDatabase } from '../../helpers/merchant-database.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { otherBinding } from '../../helpers/other-sqlite.ts';
import { scratchFile, scratchFolder } from '../../helpers/scratch-folder.ts';
import { seenThreads, type SeenThread } from './seen-threads.ts';

const CLAIM = { ...EVERYTHING, leaseMs: 60_000, ordered: false } as const;

describe('the threads of an inbox', () => {
  it('start when they are first needed: one at the first delivery, the other when somebody looks', async () => {
    const threads = seenThreads();
    await using inbox = sqliteInbox(scratchFile());
    await sleep(50);
    expect(threads).toEqual([]);
    await inbox.accept(incoming(), later());
    expect(threads.map(({ entry }) => entry)).toEqual(['writer-thread']);
    await inbox.get({ endpoint: 'default', id: 'evt_1' });
    await inbox.operations?.count([]);
    expect(threads).toHaveLength(1);
    expect((await inbox.operations?.search({}, {}))?.events).toHaveLength(1);
    expect(threads.map(({ entry }) => entry)).toEqual(['writer-thread', 'operators-thread']);
  });

  it('are none with `thread: false`', async () => {
    const threads = seenThreads();
    await using inbox = sqliteInbox(scratchFile(), { thread: false });
    await inbox.accept(incoming(), later());
    await inbox.operations?.search({}, {});
    expect(threads).toEqual([]);
  });

  it('keep no process alive that has nothing to do, and one that waits for them until it is answered', async () => {
    const file = scratchFile();
    await using child = new Child(new URL('idle-process.ts', import.meta.url), [file]);
    expect(await child.line()).toBe('stored');
    await child.finish();
    await using merchant = new Child(new URL('idle-process.ts', import.meta.url), [file, 'database']);
    expect(await merchant.line()).toBe('duplicate');
    await merchant.finish();
  });

  it('end with the inbox', async () => {
    const threads = seenThreads();
    const inbox = sqliteInbox(scratchFile());
    await inbox.accept(incoming(), later());
    await inbox.operations?.search({}, {});
    await inbox.close();
    expect(threads.map(({ worker }) => worker.threadId)).toEqual([-1, -1]);
    await expect(inbox.accept(incoming(), later())).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(inbox.get({ endpoint: 'default', id: 'evt_1' })).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(inbox.operations?.search({}, {})).rejects.toMatchObject({ code: 'CLOSED' });
    expect(threads).toHaveLength(2);
  });
});

describe('what waits for the writer', () => {
  it('goes to it in groups, two of them at most', async () => {
    const threads = seenThreads();
    await using inbox = sqliteInbox(scratchFile());
    await inbox.accept(incoming({ id: 'first' }), later());
    const [writer] = threads as [SeenThread];
    let most = 0;
    const look = setInterval(() => (most = Math.max(most, underWay(writer))), 0);
    const accepted = await Promise.all(severalIncoming(5_000).map((event) => inbox.accept(event, later())));
    clearInterval(look);
    expect(accepted.every(({ result }) => result === 'stored')).toBe(true);
    expect(writer.sent.filter(({ kind }) => kind === 'commit').length).toBeLessThan(50);
    expect(most).toBe(2);
    expect((await inbox.list({ limit: 5_001 })).map(({ id }) => id).slice(1)).toEqual(
      severalIncoming(5_000).map(({ id }) => id),
    );
  });

  it('takes its bodies along in one buffer, and nothing of the slabs they lie in', async () => {
    const threads = seenThreads();
    await using inbox = sqliteInbox(scratchFile());
    const slab = Buffer.alloc(64 * 1024, 'x');
    const events = severalIncoming(10).map((event, n) => ({ ...event, body: slab.subarray(n, n + 100) }));
    await Promise.all(events.map((event) => inbox.accept(event, later())));
    const groups = threads[0]?.sent.filter(({ kind }) => kind === 'commit');
    expect(groups).toMatchObject([{ bytes: 1_000 }]);
    expect((await inbox.list()).every(({ body }) => body?.toString() === 'x'.repeat(100))).toBe(true);
  });

  it('is stored before the inbox is closed, both groups under way and what lies behind them', async () => {
    const file = scratchFile();
    const inbox = sqliteInbox(file);
    await inbox.accept(incoming({ id: 'first' }), later());
    const accepting = severalIncoming(3_000).map((event) => inbox.accept(event, later()));
    await sleep(0);
    await inbox.close();
    const results = await Promise.all(accepting);
    expect(results.every(({ result }) => result === 'stored')).toBe(true);
    expect(storedIn(file).size).toBe(3_001);
  });

  it('waits for a lock of another process without holding up the event loop, and is given up at its deadline', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    await inbox.accept(incoming({ id: 'first' }), later());
    const other = new Database(file);
    other.exec('BEGIN IMMEDIATE');
    const late = inbox.accept(incoming({ id: 'late' }), performance.now() + 100);
    const inTime = inbox.accept(incoming({ id: 'in time' }), later());
    let turns = 0;
    const look = setInterval(() => (turns += 1), 1);
    await expect(late).rejects.toMatchObject({ code: 'DEADLINE' });
    clearInterval(look);
    expect(turns).toBeGreaterThan(5);
    other.exec('ROLLBACK');
    other.close();
    expect((await inTime).result).toBe('stored');
    expect([...storedIn(file)]).toEqual(['first', 'in time']);
  });

  it('is refused beyond the limits, whoever holds what is under way', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file, { maxWaiting: 10 });
    const accepting = severalIncoming(30).map((event) => inbox.accept(event, later()));
    const outcomes = await Promise.allSettled(accepting);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(outcomes.slice(10)).toMatchObject(
      Array.from({ length: 20 }, () => ({ status: 'rejected', reason: { code: 'OVERLOADED' } })),
    );
  });
});

describe('a writer that dies', () => {
  it('under load: what was acknowledged is in the file, what was not is refused, and another one goes on', async () => {
    const threads = seenThreads();
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const acknowledged = new Set<string>();
    const failures: unknown[] = [];
    const end = new AbortController();
    const client = async (name: number): Promise<void> => {
      for (let n = 0; !end.signal.aborted; n += 1) {
        const id = `evt_${name}_${n}`;
        try {
          await inbox.accept(incoming({ id, entity: id }), later());
          acknowledged.add(id);
        } catch (failure) {
          failures.push(failure);
        }
      }
    };
    const killer = async (): Promise<void> => {
      for (let deaths = 0; deaths <= 5; deaths += 1) {
        const before = acknowledged.size;
        await expect.poll(() => acknowledged.size, { timeout: 20_000 }).toBeGreaterThan(before + 200);
        if (deaths < 5) await threads.at(-1)?.worker.terminate();
      }
      end.abort();
    };
    await Promise.all([killer(), ...Array.from({ length: 32 }, (_, name) => client(name))]);
    expect(threads).toHaveLength(6);
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.every((failure) => failure instanceof InboxUnavailableError && failure.code === 'FAILED')).toBe(
      true,
    );
    const stored = storedIn(file);
    expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
  });

  it('while it has lent the lock, or is asked for it, leaves nobody waiting', async () => {
    const threads = seenThreads();
    await using inbox = sqliteInbox(scratchFile());
    await inbox.accept(incoming(), later());
    const [event] = await inbox.claim({ ...CLAIM, now: Date.now() }, 1);
    if (event === undefined) throw new Error('nothing was claimed');
    const dying = threads[0]?.worker.terminate();
    const done = inbox.transaction(event.lease, () => 'done', attempt());
    await dying;
    expect(await done).toBe('done');
    expect(await inbox.get(event)).toMatchObject({ state: 'processed' });
  });
});

describe('the write lock', () => {
  it('is handed over to ctx.transaction under full load within a few groups', async () => {
    const threads = seenThreads();
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    await Promise.all(severalIncoming(20, { entity: null }).map((event) => inbox.accept(event, later())));
    const claimed = await inbox.claim({ ...CLAIM, now: Date.now() }, 20);
    expect(claimed).toHaveLength(20);
    const [writer] = threads as [SeenThread];
    const end = new AbortController();
    const load = Array.from({ length: 64 }, async (_, name) => {
      for (let n = 0; !end.signal.aborted; n += 1)
        await inbox.accept(incoming({ id: `load_${name}_${n}`, entity: null }), later());
    });
    await sleep(50);
    const waits: number[] = [];
    for (const { lease } of claimed) {
      const before = answers(writer);
      await inbox.transaction(lease, () => waits.push(answers(writer) - before), attempt());
    }
    end.abort();
    await Promise.all(load);
    expect(waits).toHaveLength(20);
    expect(Math.max(...waits)).toBeLessThanOrEqual(3);
    expect((await inbox.list({ limit: 20 })).every(({ state }) => state === 'processed')).toBe(true);
  });

  it('is handed over to an operator who empties the log, under full load', async () => {
    await using inbox = sqliteInbox(scratchFile());
    await inbox.accept(orderEvent('evt_1', { order: 'ord_1' }), later());
    await inbox.operations?.indexNew(10);
    const end = new AbortController();
    const load = Array.from({ length: 32 }, async (_, name) => {
      for (let n = 0; !end.signal.aborted; n += 1) {
        await inbox.accept(incoming({ id: `load_${name}_${n}`, entity: null }), later());
      }
    });
    const erased = await inbox.operations?.erase('ord_1', { actor: 'ada' }, {});
    end.abort();
    await Promise.all(load);
    expect(erased).toMatchObject({ erased: 1, logEmptied: true });
  });

  it('goes round among deliveries, ctx.transaction and operators: each gets on while the others go on', async () => {
    await using inbox = sqliteInbox(scratchFile());
    const { operations } = inbox;
    if (operations === undefined) throw new Error('no operations');
    await Promise.all(severalIncoming(60, { entity: null }).map((event) => inbox.accept(event, later())));
    const claimed = await inbox.claim({ ...CLAIM, now: Date.now() }, 60);
    const done = { stored: 0, transactions: 0, notes: 0 };
    await operations.note('export', { actor: 'ada' }, {}, {}); // their thread has started
    const end = new AbortController();
    const deliveries = Array.from({ length: 16 }, async (_, name) => {
      for (let n = 0; !end.signal.aborted; n += 1) {
        await inbox.accept(incoming({ id: `load_${name}_${n}`, entity: null }), later());
        done.stored += 1;
      }
    });
    const notes = Array.from({ length: 4 }, async () => {
      while (!end.signal.aborted) {
        await operations.note('export', { actor: 'ada' }, {}, {});
        done.notes += 1;
      }
    });
    for (const { lease } of claimed) {
      await inbox.transaction(lease, () => (done.transactions += 1), attempt());
    }
    end.abort();
    await Promise.all([...deliveries, ...notes]);
    expect(done.transactions).toBe(60);
    expect(done.stored).toBeGreaterThan(60);
    expect(done.notes).toBeGreaterThan(30);
  });
});

describe('where there can be no thread', () => {
  it.each<[string, (entry: string) => URL | string]>([
    [
      'as the host forbids it',
      () => {
        throw new Error('threads are forbidden here');
      },
    ],
    ['as its file was lost by a bundler', (entry) => entry.replace('-thread', '-thread-that-is-not-there')],
    ['as it ends at once', () => new URL('data:text/javascript,process.exit()')],
  ])('%s, all is done on the event loop, and said once', async (_, entryOf) => {
    seenThreads(entryOf);
    const log = recordedLog();
    const file = scratchFile();
    await using inbox = sqliteInbox(file, { logger: log.logger });
    const results = await Promise.all(severalIncoming(100).map((event) => inbox.accept(event, later())));
    expect(results.every(({ result }) => result === 'stored')).toBe(true);
    expect((await inbox.operations?.search({}, { limit: 3 }))?.events).toHaveLength(3);
    const pages = inbox.operations?.exportPages({});
    expect(await pages?.next()).toMatchObject({ events: 100 });
    await inbox.operations?.ping();
    await inbox.upkeep?.({ now: () => Date.now(), isOpen: () => true });
    const [event] = await inbox.claim({ ...CLAIM, now: Date.now() }, 1);
    if (event === undefined) throw new Error('nothing was claimed');
    await inbox.transaction(event.lease, () => {}, attempt());
    expect(await inbox.get(event)).toMatchObject({ state: 'processed' });
    expect(log.lines).toMatchObject([{ level: 'warn', facts: { file, cause: expect.any(String) as string } }]);
  });
});

it.each<[string, RegExp, () => SqliteDatabase]>([
  [
    'is of another copy of better-sqlite3',
    /a copy of better-sqlite3 other than/,
    () => {
      const prototype = {};
      const database = merchantDatabase();
      return new Proxy<SqliteDatabase>(database, {
        getPrototypeOf: () => prototype,
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    },
  ],
  [
    'is of the same class, but of another SQLite',
    /a copy of better-sqlite3 other than/,
    () => {
      return merchantDatabase(scratchFile(), { nativeBinding: otherBinding(scratchFolder()) });
    },
  ],
  [
    'is alone on its file',
    /EXCLUSIVE/,
    () => {
      const database = merchantDatabase();
      database.pragma('locking_mode = EXCLUSIVE');
      return database;
    },
  ],
  [
    'has a trigger on a table of hookbox',
    /trigger/,
    () => {
      const file = scratchFile();
      sqliteInbox(file, { thread: false });
      const database = merchantDatabase(file);
      database.function('own', () => 1);
      database.exec('CREATE TRIGGER seen AFTER INSERT ON hookbox_events BEGIN UPDATE orders SET total = own(); END');
      return database;
    },
  ],
  [
    'has a trigger of its own alone',
    /trigger/,
    () => {
      const file = scratchFile();
      sqliteInbox(file, { thread: false });
      const database = merchantDatabase(file);
      database.exec('CREATE TEMP TRIGGER seen AFTER INSERT ON main.hookbox_events BEGIN SELECT 1; END');
      return database;
    },
  ],
])('no thread opens the file of a connection that %s', async (_, cause, open) => {
  const threads = seenThreads();
  const log = recordedLog();
  await using inbox = sqliteInbox({ database: open() }, { logger: log.logger });
  expect((await inbox.accept(incoming(), later())).result).toBe('stored');
  expect(threads).toEqual([]);
  expect(log.lines).toMatchObject([{ level: 'warn', facts: { cause: expect.stringMatching(cause) as string } }]);
});

it('a trigger that calls what only the connection of a merchant has may be made later: nothing is refused', async () => {
  const log = recordedLog();
  const database = merchantDatabase();
  await using inbox = sqliteInbox({ database }, { logger: log.logger });
  await inbox.accept(incoming({ id: 'before' }), later());
  const seen: unknown[] = [];
  database.function('own', (id) => seen.push(id));
  database.exec('CREATE TRIGGER seen AFTER INSERT ON hookbox_events BEGIN SELECT own(new.id); END');
  const accepting = severalIncoming(1_500).map((event) => inbox.accept(event, later()));
  const results = await Promise.all(accepting);
  expect(results.every(({ result }) => result === 'stored')).toBe(true);
  expect(seen).toEqual(severalIncoming(1_500).map(({ id }) => id));
  expect(log.lines).toMatchObject([{ level: 'warn', facts: { cause: expect.stringMatching(/trigger/) as string } }]);
});

it('an operator, too, is served where such a trigger was made later', async () => {
  const log = recordedLog();
  const database = merchantDatabase();
  await using inbox = sqliteInbox({ database }, { logger: log.logger });
  await inbox.accept(incoming(), later());
  database.function('own', () => 1);
  database.exec('CREATE TRIGGER seen AFTER UPDATE ON hookbox_events BEGIN SELECT own(); END');
  const acted = inbox.operations?.act('discard', [{ endpoint: 'default', id: 'evt_1' }], { actor: 'ada' }, {});
  expect(await acted).toMatchObject({ counts: { done: 1 } });
  expect(log.lines).toHaveLength(1);
});

it('what a thread finds out late about the file is done on the event loop: it was locked, and cannot be read', async () => {
  const busyThenUnreadable = `
    const { parentPort } = require('node:worker_threads');
    const cause = { name: 'InboxOpenError', message: 'no SQLite database', code: 'NOT_A_DATABASE', cause: null };
    const failure = { name: 'InboxUnavailableError', message: 'no SQLite database', code: 'FAILED', cause };
    let asked = 0;
    parentPort.postMessage({ kind: 'ready' });
    parentPort.on('message', ({ kind, id, moves }) => {
      if (kind === 'close') return parentPort.unref();
      asked += 1;
      const result = moves?.map(() => (asked === 1 ? 'busy' : { failure }));
      parentPort.postMessage({ kind: 'answer', id, result });
    });`;
  const threads = seenThreads((entry, thread) =>
    thread === 'writer-thread'
      ? new URL(`data:text/javascript,${encodeURIComponent(asModule(busyThenUnreadable))}`)
      : entry,
  );
  const log = recordedLog();
  await using inbox = sqliteInbox({ database: merchantDatabase() }, { logger: log.logger });
  expect((await inbox.accept(incoming(), later())).result).toBe('stored');
  expect(threads[0]?.sent.filter(({ kind }) => kind === 'commit')).toHaveLength(2);
  expect(log.lines).toMatchObject([{ facts: { cause: 'no SQLite database' } }]);
});

it('a thread that does not come up is not waited for beyond the deadline of a delivery, nor given up for good', async () => {
  const waits = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)';
  let hangs = true;
  const threads = seenThreads((entry) => (hangs ? new URL(`data:text/javascript,${waits}`) : entry));
  const log = recordedLog();
  await using inbox = sqliteInbox(scratchFile(), { logger: log.logger });
  expect((await inbox.accept(incoming(), performance.now() + 9_000)).result).toBe('stored');
  hangs = false;
  await expect
    .poll(async () => {
      await inbox.accept(incoming(), later());
      return threads[1]?.heard.some(({ kind }) => kind === 'answer');
    })
    .toBe(true);
  expect(log.lines).toEqual([]);
});

it('operators without a thread take nothing from a writer that is there', async () => {
  const threads = seenThreads(withoutOperators);
  const log = recordedLog();
  await using inbox = sqliteInbox(scratchFile(), { logger: log.logger });
  await inbox.accept(incoming(), later());
  for (let n = 0; n < 2; n += 1) expect((await inbox.operations?.search({}, {}))?.events).toHaveLength(1);
  expect(await inbox.operations?.note('export', { actor: 'ada' }, {}, {})).toBe(1);
  await inbox.accept(incoming({ id: 'evt_2' }), later());
  expect(threads[0]?.sent.filter(({ kind }) => kind === 'commit')).toHaveLength(2);
  expect(log.lines).toMatchObject([{ level: 'warn' }]);
});

it('a lock at the first delivery is waited for, and no reason to do without a thread', async () => {
  const threads = seenThreads();
  const log = recordedLog();
  const file = scratchFile();
  await using inbox = sqliteInbox({ database: merchantDatabase(file) }, { logger: log.logger });
  const other = new Database(file);
  other.exec('BEGIN IMMEDIATE');
  const accepting = inbox.accept(incoming(), later());
  await expect.poll(() => threads[0]?.heard.some(({ kind }) => kind === 'ready')).toBe(true);
  other.exec('ROLLBACK');
  other.close();
  expect((await accepting).result).toBe('stored');
  expect(threads[0]?.heard.some(({ kind }) => kind === 'answer')).toBe(true);
  expect(log.lines).toEqual([]);
});

it('threads that were given up end with the inbox, too', async () => {
  const threads = seenThreads(withoutOperators);
  const inbox = sqliteInbox(scratchFile(), { logger: recordedLog().logger });
  await inbox.accept(incoming(), later());
  await inbox.operations?.search({}, {});
  await inbox.accept(incoming(), later());
  await inbox.close();
  await expect.poll(() => threads.map(({ worker }) => worker.threadId)).toEqual([-1, -1]);
});

it('an export whose thread dies does not look whole', async () => {
  const threads = seenThreads();
  await using inbox = sqliteInbox(scratchFile());
  await Promise.all(severalIncoming(300).map((event) => inbox.accept(event, later())));
  const pages = inbox.operations?.exportPages({});
  expect(await pages?.next()).toMatchObject({ events: 100 });
  await threads.find(({ entry }) => entry === 'operators-thread')?.worker.terminate();
  await expect(pages?.next()).rejects.toMatchObject({ code: 'FAILED' });
});

it('an export has what was stored when it was asked for, and nothing later', async () => {
  await using inbox = sqliteInbox(scratchFile());
  await inbox.accept(incoming(), later());
  const pages = inbox.operations?.exportPages({});
  await inbox.accept(incoming({ id: 'later' }), later());
  expect(await pages?.next()).toMatchObject({ events: 1 });
});

it('what onProgress throws is thrown to whoever asked, and ends the work', async () => {
  await using inbox = sqliteInbox(scratchFile());
  await inbox.accept(orderEvent('evt_1', { order: 'ord_1' }), later());
  await inbox.operations?.indexNew(10);
  const erasing = inbox.operations?.erase(
    'ord_1',
    { actor: 'ada' },
    {
      onProgress() {
        throw new Error('the terminal is gone');
      },
    },
  );
  await expect(erasing).rejects.toThrow('the terminal is gone');
});

it('a ping is answered while handlers ask for the lock one after the other', async () => {
  await using inbox = sqliteInbox(scratchFile());
  await Promise.all(severalIncoming(400, { entity: null }).map((event) => inbox.accept(event, later())));
  const claimed = [...(await inbox.claim({ ...CLAIM, now: Date.now() }, 400))];
  let transactions = 0;
  const handlers = Array.from({ length: 8 }, async () => {
    for (let event = claimed.pop(); event !== undefined; event = claimed.pop()) {
      await inbox.transaction(event.lease, () => (transactions += 1), attempt());
    }
  });
  await expect.poll(() => transactions).toBeGreaterThan(20);
  const before = transactions;
  await inbox.operations?.ping();
  expect(transactions - before).toBeLessThan(100);
  await Promise.all(handlers);
  expect(transactions).toBe(400);
});

describe('the lock that the writer lends', () => {
  it('comes back when whoever asked for it dies before it is lent', async () => {
    const lender = new LockLender();
    const { port1, port2 } = new MessageChannel();
    lender.serve(port1);
    let giveBack = (): void => {};
    lender.lend((back) => (giveBack = back));
    port2.postMessage('borrow');
    await sleep(20);
    port2.close();
    await sleep(20);
    giveBack();
    await expect.poll(() => lender.isLent).toBe(false);
  });

  it('is lent once where the channel to it is made twice', async () => {
    const lender = new LockLender();
    const borrower = new LockBorrower();
    let giveBack = (): void => {};
    lender.lend((back) => (giveBack = back));
    const first = new MessageChannel();
    lender.serve(first.port1);
    borrower.use(first.port2);
    const borrowing = borrower.borrow();
    await sleep(20);
    const second = new MessageChannel();
    lender.serve(second.port1);
    borrower.use(second.port2);
    (await borrowing)();
    giveBack();
    await expect.poll(() => lender.isLent).toBe(false);
    const again = await borrower.borrow();
    expect(lender.isLent).toBe(true);
    again();
    await expect.poll(() => lender.isLent).toBe(false);
  });
});

function withoutOperators(entry: string, thread: string): string {
  return thread === 'operators-thread' ? entry.replace('hookbox-thread', 'no-such-thread') : entry;
}

function asModule(script: string): string {
  return `import { createRequire } from 'node:module'; const require = createRequire('/'); ${script}`;
}

function attempt() {
  return { now: () => Date.now(), signal: new AbortController().signal };
}

function answers({ heard }: SeenThread): number {
  return heard.filter(({ kind }) => kind === 'answer').length;
}

function underWay(thread: SeenThread): number {
  return thread.sent.filter(({ kind }) => kind === 'commit').length - answers(thread);
}

function storedIn(file: string): ReadonlySet<string> {
  const database = new Database(file, { readonly: true });
  const ids = database.prepare('SELECT id FROM hookbox_events').pluck().all() as string[];
  database.close();
  return new Set(ids);
}
