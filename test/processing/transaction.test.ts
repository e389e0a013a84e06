import Database from 'better-sqlite3';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { TransactionError } from '../../src/errors.ts';
import type { HandlerContext } from '../../src/processing/handlers.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { EVERYTHING } from '../../src/inbox/work.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/opening/database.ts';
import { openConnection, sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { createProcessor, type ProcessorOptions } from '../../src/processing/processor.ts';
import { recordedLog, type RecordedLog } from '../helpers/recorded-log.ts';
import { Child } from '../helpers/child.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { watchStalls } from '../helpers/stall-watch.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { rest, START, VirtualClock } from '../helpers/virtual-clock.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const LOCK_HOLDER = new URL('../inbox/lock-holder.ts', import.meta.url);

const TABLES = `
  CREATE TABLE IF NOT EXISTS effects (event TEXT NOT NULL, what TEXT NOT NULL DEFAULT 'done', UNIQUE (event, what)) STRICT;
  CREATE TABLE IF NOT EXISTS products (id TEXT PRIMARY KEY) STRICT;
  CREATE TABLE IF NOT EXISTS lines (
    event   TEXT NOT NULL,
    product TEXT NOT NULL REFERENCES products (id) DEFERRABLE INITIALLY DEFERRED
  ) STRICT;
`;

type Behaviour = (context: HandlerContext, attempt: number) => unknown;

const writeEffect = (what: string) => (database: SqliteDatabase) =>
  database.prepare('INSERT INTO effects (event, what) VALUES (?, ?)').run('evt_1', what);

const untyped = (work: unknown) => work as (database: SqliteDatabase) => undefined;

const ways: readonly [string, (file: string) => SqliteDatabase | string][] = [
  ['a file of its own', (file) => file],
  ["the merchant's open connection", openConnection],
];

describe.each(ways)('ctx.transaction on %s', (_, open) => {
  let clock: VirtualClock;
  let file: string;
  let inbox: Inbox;
  let log: RecordedLog;
  let merchant: Database.Database;
  let rejections: unknown[];

  beforeEach(() => {
    clock = new VirtualClock();
    file = scratchFile();
    merchant = new Database(file);
    merchant.pragma('journal_mode = WAL');
    merchant.exec(TABLES);
    const source = open(file);
    inbox = sqliteInbox(typeof source === 'string' ? source : { database: source });
    log = recordedLog();
    rejections = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(async () => {
      await inbox.close();
      merchant.close();
      process.off('unhandledRejection', note);
      expect(rejections).toEqual([]);
    });
  });

  const effects = (): unknown => merchant.prepare('SELECT what FROM effects ORDER BY rowid').pluck().all();
  const state = async (): Promise<string | undefined> => (await inbox.get(KEY))?.state;
  const attempts = () => inbox.attempts(KEY);

  async function handle(behaviour: Behaviour, options: Partial<ProcessorOptions> = {}, forMs = 10_000): Promise<void> {
    await store(inbox, orderEvent('evt_1'));
    const running = createProcessor({
      inbox,
      clock,
      logger: log.logger,
      processing: { retry: { attempts: 3, baseMs: 1 } },
      ...options,
      handlers: { '*': (_event, context) => behaviour(context, context.attempt) },
    });
    await running.start();
    await clock.advance(forMs);
    const closing = running.close();
    await clock.advance(20_000);
    await closing;
  }

  it('logs that a function sent no statement, and commits', async () => {
    await handle((context) => context.transaction(() => 'nothing'));
    expect(await state()).toBe('processed');
    const unused = log.lines.filter(({ message }) => message.startsWith('ctx.transaction ended without a statement'));
    expect(unused).toMatchObject([{ level: 'warn', facts: { id: 'evt_1', type: 'order.created' } }]);
  });

  it("commits what it writes among the merchant's tables together with the mark, and gives back its result", async () => {
    let seenBefore: unknown;
    let result: unknown;
    await handle(async (context) => {
      result = await context.transaction((database) => {
        database.prepare('INSERT INTO effects (event) VALUES (?)').run('evt_1');
        seenBefore = [effects(), merchant.prepare('SELECT state FROM hookbox_events').pluck().get()];
        return { answer: 42 };
      });
      expect([effects(), await state()]).toEqual([['done'], 'processed']);
    });
    expect(seenBefore).toEqual([[], 'processing']);
    expect(result).toEqual({ answer: 42 });
    expect([effects(), await state()]).toEqual([['done'], 'processed']);
    expect(await attempts()).toMatchObject([{ outcome: 'processed', error: null }]);
    expect(log.lines).toEqual([]);
  });

  it.each([
    ['by hookbox', () => {}],
    ['by its function itself, so that it is dead', (database: SqliteDatabase) => void database.exec('COMMIT')],
  ])('once it has committed %s, its order stays held until its handler has ended', async (_, work) => {
    await store(inbox, orderEvent('evt_1'), orderEvent('evt_2', { order: 'evt_1' }));
    const seen: string[] = [];
    await handle(
      async (context) => {
        const id = context.attempt === 1 && seen.length === 0 ? 'first' : 'next';
        seen.push(`${id} begins`);
        if (id === 'first') await context.transaction(work).catch(() => {});
        await new Promise<void>((resolve) => void clock.after(5_000, resolve));
        seen.push(`${id} ends`);
      },
      {},
      20_000,
    );
    expect(seen).toEqual(['first begins', 'first ends', 'next begins', 'next ends']);
  });

  it('rolls everything back when its function throws, and the attempt has failed with that', async () => {
    await handle(async (context, attempt) => {
      await context.transaction((database) => {
        writeEffect(`attempt ${attempt}`)(database);
        if (attempt === 1) throw new RangeError('out of stock');
      });
    });
    expect(effects()).toEqual(['attempt 2']);
    expect(await attempts()).toMatchObject([
      { outcome: 'failed', error: { name: 'RangeError', message: 'out of stock' } },
      { outcome: 'processed', error: null },
    ]);
  });

  it('may be called again after its function threw, as nothing has happened then', async () => {
    await handle(async (context) => {
      await context
        .transaction((database) => {
          writeEffect('first')(database);
          throw new Error('not so');
        })
        .catch(() => {});
      await context.transaction(writeEffect('second'));
    });
    expect([effects(), await state()]).toEqual([['second'], 'processed']);
  });

  it('lets a constraint of the merchant fail the attempt and nothing else', async () => {
    merchant.exec("INSERT INTO effects (event, what) VALUES ('evt_1', 'taken')");
    await handle(async (context, attempt) => {
      await context.transaction(writeEffect(attempt === 1 ? 'taken' : 'free'));
    });
    expect(effects()).toEqual(['taken', 'free']);
    expect(await attempts()).toMatchObject([
      { outcome: 'failed', error: { name: 'SqliteError', message: expect.stringContaining('UNIQUE') } },
      { outcome: 'processed' },
    ]);
  });

  it('lets its function use transactions of better-sqlite3, which become part of it', async () => {
    await handle(async (context) => {
      await context.transaction((database) => {
        const inner = (database as Database.Database).transaction((what: string) => {
          writeEffect(what)(database);
          if (what === 'undone') throw new Error('undo');
        });
        inner('kept');
        expect(() => inner('undone')).toThrow('undo');
        database.exec('SAVEPOINT left_open');
        writeEffect('kept too')(database);
      });
    });
    expect([effects(), await state()]).toEqual([['kept', 'kept too'], 'processed']);
  });

  describe('success is final:', () => {
    it('a second call rejects and does not run its function', async () => {
      const second = vi.fn();
      let failure: unknown;
      await handle(async (context) => {
        await context.transaction(writeEffect('first'));
        failure = await context.transaction(second).catch((thrown: unknown) => thrown);
      });
      expect(failure).toBeInstanceOf(TransactionError);
      expect(failure).toMatchObject({ code: 'ALREADY_COMMITTED', message: expect.stringMatching(/once|one call/) });
      expect(second).not.toHaveBeenCalled();
      expect([effects(), await state()]).toEqual([['first'], 'processed']);
    });

    it('of two calls at the same time one commits and the other rejects', async () => {
      let ends: PromiseSettledResult<unknown>[] = [];
      await handle(async (context) => {
        ends = await Promise.allSettled([
          context.transaction(writeEffect('one')),
          context.transaction(writeEffect('other')),
        ]);
      });
      expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      expect([effects(), await state()]).toEqual([['one'], 'processed']);
    });

    it('what the handler throws afterwards is recorded, and not retried', async () => {
      await handle(async (context) => {
        await context.transaction(writeEffect('done'));
        throw new Error('could not send the mail');
      });
      expect([effects(), await state()]).toEqual([['done'], 'processed']);
      expect(await attempts()).toMatchObject([
        { outcome: 'processed', error: { name: 'Error', message: 'could not send the mail' } },
      ]);
    });

    it('what a handler throws that did not await it is recorded, and not retried', async () => {
      await handle((context) => {
        void context.transaction(writeEffect('done'));
        throw new Error('at once');
      });
      expect([effects(), await state()]).toEqual([['done'], 'processed']);
      expect(await attempts()).toMatchObject([{ outcome: 'processed', error: { message: 'at once' } }]);
    });

    it('even for a handler that runs out of time afterwards', async () => {
      await handle(
        async (context) => {
          await context.transaction(writeEffect('done'));
          await new Promise(() => {});
        },
        { processing: { timeoutMs: 1_000 } },
        60_000,
      );
      expect([effects(), await state()]).toEqual([['done'], 'processed']);
      expect(await attempts()).toMatchObject([{ outcome: 'processed', error: { name: 'TimeoutError' } }]);
    });
  });

  describe('that the handler does not wait for', () => {
    const failing = (database: SqliteDatabase): void => {
      writeEffect('undone')(database);
      throw new RangeError('out of stock');
    };
    const floating: readonly [string, (context: HandlerContext) => unknown][] = [
      ['nothing', (context) => void context.transaction(failing)],
      ['another await', (context) => (void context.transaction(failing), turn())],
      ['then', (context) => void context.transaction(failing).then(() => {})],
      ['a catch that swallows it', (context) => void context.transaction(failing).catch(() => {})],
      ['a catch, and another await', (context) => (void context.transaction(failing).catch(() => {}), turn())],
      ['finally', (context) => void context.transaction(failing).finally(() => {})],
      [
        'then and finally',
        (context) =>
          void context
            .transaction(failing)
            .then(() => {})
            .finally(() => {}),
      ],
      ['Promise.all', (context) => void Promise.allSettled([context.transaction(failing)])],
      [
        'a function of its own that waits',
        (context) => {
          void (async () => {
            try {
              await context.transaction(failing);
            } catch {
              await turn();
            }
          })();
        },
      ],
      ['a rejection', (context) => (void context.transaction(failing), Promise.reject(new Error('another')))],
    ];

    it.each(floating)('fails the attempt when it fails, followed by %s', async (_, floats) => {
      const runs: number[] = [];
      await handle(async (context, attempt) => {
        runs.push(attempt);
        if (attempt === 1) await floats(context);
        else await context.transaction(writeEffect('done'));
      });
      await sleep(20);
      expect([runs, effects(), await state()]).toEqual([[1, 2], ['done'], 'processed']);
      expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['failed', 'processed']);
      expect((await attempts())[0]?.error?.name).toMatch(/^RangeError$|^Error$/);
    });

    it('commits all the same when it succeeds', async () => {
      await handle((context) => void context.transaction(writeEffect('done')).then(() => {}));
      expect([effects(), await state()]).toEqual([['done'], 'processed']);
      expect(log.lines).toEqual([]);
    });

    it('ends nothing when it is called twice: the first one stands, and the other is noted', async () => {
      await handle((context) => {
        void context.transaction(writeEffect('first'));
        void context.transaction(writeEffect('second'));
      });
      await sleep(20);
      expect([effects(), await state()]).toEqual([['first'], 'processed']);
      expect(await attempts()).toMatchObject([
        { outcome: 'processed', error: { name: 'TransactionError', message: expect.stringContaining('one call') } },
      ]);
    });

    it('and that succeeds leaves what a `then` of the merchant throws to the merchant', async () => {
      await handle((context) => {
        void context.transaction(writeEffect('done')).then(() => {
          throw new Error('a bug of theirs');
        });
      });
      await sleep(20);
      expect(rejections.splice(0)).toMatchObject([{ message: 'a bug of theirs' }]);
    });

    it('commits nothing when it is called after the handler has ended', async () => {
      const full = Promise.withResolvers<void>();
      const settle: Inbox['settle'] = async (...given) => {
        await full.promise;
        return inbox.settle(...given);
      };
      const begun = Promise.withResolvers<HandlerContext>();
      const handling = handle(
        (context, attempt) => {
          if (attempt > 1) return;
          begun.resolve(context);
          throw new Error('not yet');
        },
        { inbox: { ...inbox, settle } },
      );
      const late = await begun.promise;
      await rest();
      void late.transaction(writeEffect('late'));
      const failure: unknown = await late.transaction(writeEffect('late')).catch((thrown: unknown) => thrown);
      full.resolve();
      await handling;
      void late.transaction(writeEffect('much too late'));
      await sleep(20);
      expect(failure).toMatchObject({ name: 'TransactionError', code: 'ATTEMPT_OVER' });
      expect(effects()).toEqual([]);
      expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['failed', 'processed']);
    });
  });

  describe("whose failure the handler has waited for is the handler's to judge:", () => {
    const failing = (): never => {
      throw new RangeError('out of stock');
    };
    it.each<[string, Behaviour]>([
      [
        'caught',
        async (context) => {
          try {
            await context.transaction(failing);
          } catch {}
        },
      ],
      ['caught by a function', (context) => context.transaction(failing).catch(() => {})],
      [
        'caught after finally',
        async (context) => {
          await context
            .transaction(failing)
            .finally(() => {})
            .catch(() => {});
        },
      ],
      ['looked at', (context) => Promise.allSettled([context.transaction(failing), sleep(1)])],
      [
        'caught later',
        async (context) => {
          const promise = context.transaction(failing);
          await sleep(1);
          await promise.catch(() => {});
        },
      ],
    ])('%s, it fails nothing', async (_, behaviour) => {
      await handle(behaviour);
      expect([await state(), (await attempts()).length]).toEqual(['processed', 1]);
      expect(log.lines).toEqual([]);
    });
  });

  it('rejects once the lease is lost to another processor, and writes nothing', async () => {
    const work = vi.fn();
    let failure: unknown;
    await handle(
      async (context, attempt) => {
        if (attempt > 1) return;
        const request = { now: clock.now() + 20_000, leaseMs: 100, ...EVERYTHING, ordered: true } as const;
        expect(await inbox.claim(request, 1)).toHaveLength(1);
        failure = await context.transaction(work).catch((thrown: unknown) => thrown);
        throw failure as Error;
      },
      {},
      60_000,
    );
    expect(failure).toBeInstanceOf(TransactionError);
    expect(failure).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('Nothing was committed') });
    expect(work).not.toHaveBeenCalled();
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['crashed', 'crashed', 'processed']);
  });

  it('commits however late it is, as long as nobody has taken the event over', async () => {
    await handle(async (context) => {
      clock.block(3_600_000);
      await context.transaction(writeEffect('late'));
    });
    expect([effects(), await state()]).toEqual([['late'], 'processed']);
    expect((await attempts()).map(({ outcome }) => outcome)).toEqual(['processed']);
  });

  describe('an asynchronous function', () => {
    it('is refused before it runs, where that can be seen', async () => {
      const work = vi.fn();
      const asynchronous = async (): Promise<void> => work();
      await handle(async (context) => {
        await context.transaction(untyped(asynchronous));
      });
      expect(work).not.toHaveBeenCalled();
      expect(await state()).toBe('dead');
      const failed = {
        outcome: 'failed',
        error: { name: 'TransactionError', message: expect.stringMatching(/asynchronous/) },
      };
      expect(await attempts()).toMatchObject([failed, failed, failed]);
    });

    it.each([
      ['a promise', () => Promise.resolve()],
      ['a promise that rejects', () => Promise.reject(new Error('late'))],
    ])('that only shows by returning %s is rolled back', async (_, result) => {
      await handle(async (context) => {
        await context.transaction(
          untyped((database: SqliteDatabase) => {
            writeEffect('never')(database);
            return result();
          }),
        );
      });
      expect([effects(), await state()]).toEqual([[], 'dead']);
      expect(await attempts()).toMatchObject([{ outcome: 'failed', error: { name: 'TransactionError' } }, {}, {}]);
      await sleep(20);
    });

    const late: readonly [string, (database: SqliteDatabase) => () => unknown][] = [
      ['a statement that it prepares then', (database) => () => writeEffect('late')(database)],
      ['a script', (database) => () => database.exec("INSERT INTO effects VALUES ('evt_1', 'late')")],
      [
        'a statement that it had prepared before',
        (database) => {
          const insert = database.prepare("INSERT INTO effects VALUES ('evt_1', ?)");
          return () => insert.run('late');
        },
      ],
      [
        'one whose setting was changed',
        (database) => {
          const insert = database.prepare("INSERT INTO effects VALUES ('evt_1', ?)").safeIntegers();
          return () => insert.run('late');
        },
      ],
      [
        'a transaction of better-sqlite3',
        (database) => (database as Database.Database).transaction(() => writeEffect('late')(database)),
      ],
      [
        'the connection of a statement',
        (database) => {
          const { database: same } = database.prepare('SELECT 1') as Database.Statement;
          return () => same.exec("INSERT INTO effects VALUES ('evt_1', 'late')");
        },
      ],
    ];

    it.each(late)('that goes on behind its transaction writes nothing any more with %s', async (_, kept) => {
      const refused: unknown[] = [];
      await handle(async (context) => {
        await context.transaction(
          untyped((database: SqliteDatabase) => {
            const write = kept(database);
            return (async () => {
              await sleep(1);
              try {
                write();
              } catch (failure) {
                refused.push(String(failure));
              }
            })();
          }),
        );
      });
      await expect.poll(() => refused).toHaveLength(3);
      expect(new Set(refused)).toEqual(new Set([expect.stringMatching(/had ended, so nothing was written/)]));
      expect([effects(), await state()]).toEqual([[], 'dead']);
    });

    it('does not end what others keep of the connection: a statement serves for one transaction after the other', async () => {
      let kept: ReturnType<SqliteDatabase['prepare']> | undefined;
      const connections = new Set<SqliteDatabase>();
      for (const what of ['one', 'two']) {
        await store(inbox, orderEvent(`evt_${what}`));
      }
      await handle(
        async (context) => {
          await context.transaction((database) => {
            connections.add(database);
            kept ??= database.prepare('INSERT INTO effects (event, what) VALUES (?, ?)');
            kept.run('evt_1', `done ${connections.size}`);
            kept.run(`evt_${Math.random()}`, 'each');
          });
        },
        { ordering: false },
      );
      kept?.run('evt_1', 'outside');
      expect(connections.size).toBe(1);
      expect(effects()).toContain('outside');
    });

    it('that returns the query of a query builder does not have it run by that', async () => {
      const runTheQuery = vi.fn();
      await handle(async (context) => {
        // oxlint-disable-next-line unicorn/no-thenable -- the very thing this is about
        await context.transaction(untyped(() => ({ then: runTheQuery })));
      });
      expect(await state()).toBe('dead');
      expect(await attempts()).toMatchObject([{ outcome: 'failed', error: { name: 'TransactionError' } }, {}, {}]);
      expect(runTheQuery).not.toHaveBeenCalled();
    });
  });

  describe('a function that ends the transaction itself', () => {
    const committing: readonly [string, (database: SqliteDatabase) => unknown][] = [
      ['commits', (database) => database.exec('COMMIT')],
      ['commits and begins again', (database) => database.exec('COMMIT; BEGIN')],
      [
        'commits and throws',
        (database) => {
          database.exec('COMMIT');
          throw new Error('and now this');
        },
      ],
      [
        'commits, begins again and throws',
        (database) => {
          database.exec('COMMIT; BEGIN');
          throw new Error('and now this');
        },
      ],
      [
        'commits and then breaks a constraint',
        (database) => {
          database.exec('COMMIT');
          writeEffect('before')(database);
        },
      ],
    ];

    it.each(committing)('%s: the attempt fails and says so, and the event is dead and not retried', async (_, end) => {
      const work = vi.fn((database: SqliteDatabase) => {
        writeEffect('before')(database);
        end(database);
      });
      await handle((context) => context.transaction(work));
      expect(work).toHaveBeenCalledTimes(1);
      expect(effects()).toEqual(['before']);
      expect(await inbox.get(KEY)).toMatchObject({ state: 'dead', deadReason: 'failed' });
      expect(await attempts()).toMatchObject([
        {
          outcome: 'failed',
          error: { name: 'TransactionError', message: expect.stringMatching(/itself/) },
        },
      ]);
      expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
      await store(inbox, orderEvent('evt_2'));
      expect((await inbox.get({ endpoint: 'default', id: 'evt_2' }))?.state).toBe('pending');
    });

    it.each([
      ['rolls back', 'ROLLBACK'],
      ['rolls back and begins again', 'ROLLBACK; BEGIN IMMEDIATE'],
    ])('%s: the attempt fails and says so', async (_, sql) => {
      await handle((context) =>
        context.transaction((database) => {
          writeEffect('before')(database);
          database.exec(sql);
        }),
      );
      expect([effects(), await state()]).toEqual([[], 'dead']);
      expect((await attempts())[0]).toMatchObject({
        outcome: 'failed',
        error: { name: 'TransactionError', message: expect.stringMatching(/itself/) },
      });
    });

    it('by rolling back, and writes on: what it wrote then is committed, so it is not repeated', async () => {
      const work = vi.fn((database: SqliteDatabase) => {
        database.exec('ROLLBACK');
        database
          .prepare('INSERT INTO effects (event, what) VALUES (?, ?)')
          .run('evt_1', `run ${work.mock.calls.length}`);
      });
      await handle((context) => context.transaction(work));
      expect(effects()).toEqual(['run 1']);
      expect(await inbox.get(KEY)).toMatchObject({ state: 'dead', deadReason: 'failed' });
    });

    it('fails its attempt even when the handler swallows the error', async () => {
      await handle((context) => context.transaction((database) => void database.exec('COMMIT')).catch(() => {}));
      expect(await inbox.get(KEY)).toMatchObject({ state: 'dead', deadReason: 'failed' });
      expect(await attempts()).toMatchObject([{ outcome: 'failed', error: { name: 'TransactionError' } }]);
    });

    it.each([
      ['runs out of time', { timeoutMs: 1_000 }, 60_000],
      ['is told to stop by close()', {}, 5_000],
    ])('by rolling back, and then %s: it is not run again', async (_, limits, forMs) => {
      const work = vi.fn((database: SqliteDatabase) => {
        database.exec('ROLLBACK');
        writeEffect(`run ${work.mock.calls.length}`)(database);
      });
      await handle(
        async (context) => {
          await context.transaction(work).catch(() => {});
          await new Promise(() => {});
        },
        { processing: { ...limits, retry: { attempts: 3, baseMs: 1 } } },
        forMs,
      );
      expect(effects()).toEqual(['run 1']);
      expect(await inbox.get(KEY)).toMatchObject({ state: 'dead', deadReason: 'failed' });
    });
  });

  describe('a rollback that SQLite does itself (INSERT OR ROLLBACK)', () => {
    const insertOrRollback = "INSERT OR ROLLBACK INTO effects (event, what) VALUES ('evt_1', 'taken')";

    it('makes the event dead, also when its error comes out: it may not have been the first, and writes may have followed', async () => {
      merchant.exec("INSERT INTO effects (event, what) VALUES ('evt_1', 'taken')");
      await handle(async (context, attempt) => {
        await context.transaction((database) => {
          writeEffect(`attempt ${attempt}`)(database);
          if (attempt === 1) database.exec(insertOrRollback);
        });
      });
      expect([effects(), await state()]).toEqual([['taken'], 'dead']);
      expect(await attempts()).toMatchObject([{ error: { name: 'TransactionError' } }]);
    });

    it('is no success when its error is caught inside: what was written before it is gone', async () => {
      merchant.exec("INSERT INTO effects (event, what) VALUES ('evt_1', 'taken')");
      await handle(async (context) => {
        await context.transaction((database) => {
          writeEffect('before')(database);
          try {
            database.exec(insertOrRollback);
          } catch {}
        });
      });
      expect([effects(), await state()]).toEqual([['taken'], 'dead']);
      expect((await attempts())[0]).toMatchObject({ outcome: 'failed', error: { name: 'TransactionError' } });
    });

    it('and is followed by more writes is not repeated: they were committed', async () => {
      merchant.exec("INSERT INTO effects (event, what) VALUES ('evt_1', 'taken')");
      const work = vi.fn((database: SqliteDatabase) => {
        try {
          database.exec(insertOrRollback);
        } catch {
          writeEffect(`run ${work.mock.calls.length}`)(database);
        }
      });
      await handle((context) => context.transaction(work));
      expect([effects(), await state()]).toEqual([['taken', 'run 1'], 'dead']);
    });
  });

  it('whose COMMIT fails on a deferred foreign key has failed, wrote nothing, and is retried', async () => {
    await handle(async (context, attempt) => {
      await context.transaction((database) => {
        database.exec("INSERT INTO lines (event, product) VALUES ('evt_1', 'prod_1')");
        if (attempt > 1) database.exec("INSERT INTO products (id) VALUES ('prod_1')");
      });
    });
    expect(merchant.prepare('SELECT count(*) FROM lines').pluck().get()).toBe(1);
    expect(await attempts()).toMatchObject([
      { outcome: 'failed', error: { name: 'SqliteError', message: expect.stringContaining('FOREIGN KEY') } },
      { outcome: 'processed' },
    ]);
  });

  it('cannot be called inside itself: the outer one stands', async () => {
    let inner: Promise<unknown> | undefined;
    await handle(async (context) => {
      await context.transaction((database) => {
        writeEffect('outer')(database);
        inner = context.transaction(writeEffect('inner')).catch((failure: unknown) => failure);
      });
    });
    expect(await inner).toBeInstanceOf(Error);
    expect([effects(), await state()]).toEqual([['outer'], 'processed']);
  });

  it('is not open to other deliveries: what is stored meanwhile has a commit of its own', async () => {
    let accepting: Promise<unknown> | undefined;
    await handle(async (context, attempt) => {
      await context.transaction(() => {
        if (attempt > 1) return;
        accepting = store(inbox, orderEvent('evt_2'));
        throw new Error('undo');
      });
    });
    await accepting;
    expect(await inbox.get({ endpoint: 'default', id: 'evt_2' })).toMatchObject({ id: 'evt_2' });
  });

  describe('while another process has the write lock for a second', () => {
    async function underLock(behaviour: Behaviour): Promise<{ readonly stalled: number; readonly waitedMs: number }> {
      await store(inbox, orderEvent('evt_1'));
      const begun = Promise.withResolvers<HandlerContext>();
      const go = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      await using running = createProcessor({
        inbox,
        logger: log.logger,
        processing: { retry: { attempts: 1 } },
        handlers: {
          '*': async (_event, context) => {
            begun.resolve(context);
            await go.promise;
            try {
              return await behaviour(context, context.attempt);
            } finally {
              ended.resolve();
            }
          },
        },
      });
      await running.start();
      await begun.promise;
      await using holder = new Child(LOCK_HOLDER, [file, '1000']);
      expect(await holder.line()).toBe('locked');
      const endWatch = watchStalls(100);
      const from = performance.now();
      go.resolve();
      await ended.promise;
      const waitedMs = performance.now() - from;
      while ((await attempts()).length === 0) await sleep(10);
      const stalled = endWatch();
      await running.close();
      return { stalled, waitedMs };
    }

    it('waits for it without blocking the event loop', async () => {
      const { stalled, waitedMs } = await underLock((context) => context.transaction(writeEffect('done')));
      expect(waitedMs).toBeGreaterThan(500);
      expect(stalled).toBeLessThan(0.3);
      expect([effects(), await state()]).toEqual([['done'], 'processed']);
      expect(await attempts()).toMatchObject([{ number: 1, outcome: 'processed' }]);
    });

    it('fails the attempt of a handler that did not await it when it fails', async () => {
      await underLock((context) => {
        void context.transaction(() => {
          throw new RangeError('out of stock');
        });
        void context.transaction(writeEffect('second'));
      });
      expect([effects(), await state()]).toEqual([[], 'dead']);
      expect(await attempts()).toMatchObject([{ outcome: 'failed', error: { name: 'RangeError' } }]);
    });

    it('is waited for even by a handler that did not await it: no event is processed without its effect', async () => {
      await underLock((context) => {
        context.transaction(writeEffect('done')).catch(() => {});
      });
      expect([effects(), await state()]).toEqual([['done'], 'processed']);
    });
  });
});

it("waits on the merchant's connection for a transaction of their own, and never joins in", async () => {
  const database = new Database(scratchFile());
  onTestFinished(() => void database.close());
  await using inbox = sqliteInbox({ database });
  database.exec(TABLES);
  await store(inbox, orderEvent('evt_1', { receivedAt: START }));
  await using running = createProcessor({
    inbox,
    logger: recordedLog().logger,
    handlers: {
      '*': async (_event, context) => {
        database.exec('BEGIN');
        writeEffect('own')(database);
        const committing = context.transaction(writeEffect('hookbox'));
        await sleep(50);
        database.exec('ROLLBACK');
        await committing;
      },
    },
  });
  await running.start();
  while ((await inbox.attempts(KEY)).length === 0) await sleep(10);
  expect(database.prepare('SELECT what FROM effects').pluck().all()).toEqual(['hookbox']);
  expect((await inbox.get(KEY))?.state).toBe('processed');
});

it('is given the connection of the merchant, with what they have set on it', async () => {
  const database = new Database(scratchFile());
  onTestFinished(() => void database.close());
  database.function('cents', (total: unknown) => Number(total) * 100);
  database.exec('CREATE TEMP TABLE seen (cents INTEGER)');
  await using inbox = sqliteInbox({ database });
  const given: unknown[] = [];
  await store(inbox, orderEvent('evt_1'));
  await using running = createProcessor({
    inbox,
    handlers: {
      '*': (_event, context) =>
        context.transaction((connection) => {
          connection.prepare('INSERT INTO seen VALUES (cents(?))').run(7);
          const nested = connection.transaction((cents: number) =>
            connection.prepare('INSERT INTO seen VALUES (?)').run(cents),
          );
          nested.immediate(800);
          const rows = [...connection.prepare('SELECT cents FROM seen').pluck().iterate()];
          given.push(connection instanceof Database, connection.inTransaction, connection.name === database.name, rows);
        }),
    },
  });
  await running.start();
  await expect.poll(() => given).toEqual([true, true, true, [700, 800]]);
});

describe('ctx.transaction on memoryInbox', () => {
  async function handled(behaviour: Behaviour): Promise<Inbox> {
    const inbox = memoryInbox();
    const clock = new VirtualClock();
    await store(inbox, orderEvent('evt_1'));
    const running = createProcessor({
      inbox,
      clock,
      logger: recordedLog().logger,
      processing: { retry: { attempts: 1 } },
      handlers: { '*': (_event, context) => behaviour(context, context.attempt) },
    });
    await running.start();
    await rest();
    await running.close();
    return inbox;
  }

  it('marks the event as processed, although the handler throws later', async () => {
    const work = vi.fn(() => 42);
    const inbox = await handled(async (context) => {
      expect(await context.transaction(work)).toBe(42);
      throw new Error('late');
    });
    expect(work).toHaveBeenCalledTimes(1);
    expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'processed', error: { message: 'late' } }]);
  });

  it('says that there is no database, and what to use where that matters', async () => {
    const inbox = await handled((context) => context.transaction(writeEffect('none')));
    expect(await inbox.get(KEY)).toMatchObject({ state: 'dead', deadReason: 'failed' });
    const [attempt] = await inbox.attempts(KEY);
    expect(attempt?.error?.message).toMatch(/memoryInbox has no database/);
    expect(attempt?.error?.message).toMatch(/sqliteInbox/);
  });

  it('refuses an asynchronous function as SQLite does, so that tests find out', async () => {
    const inbox = await handled((context) => context.transaction(untyped(async () => {})));
    expect(await inbox.get(KEY)).toMatchObject({ state: 'dead' });
    expect(await inbox.attempts(KEY)).toMatchObject([{ outcome: 'failed', error: { name: 'TransactionError' } }]);
  });
});
