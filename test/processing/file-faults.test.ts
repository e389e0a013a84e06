import { renameSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { SqliteDatabase } from '../../src/inbox/sqlite/opening/database.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import type { HandlerContext } from '../../src/processing/handlers.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const FAULTS = 3;

type Fault = (context: HandlerContext) => unknown;

const sqliteError = (code: string, message = 'disk I/O error') => Object.assign(new Error(message), { code });

const throwing =
  (thrown: unknown): (() => never) =>
  () => {
    throw thrown;
  };

/** A real fault: the connection may not make the file longer, and SQLite rolls back by itself. */
function fill(database: SqliteDatabase): void {
  database.exec('CREATE TABLE IF NOT EXISTS filler (bytes BLOB)');
  database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true })) + 1}`);
  try {
    database.exec('INSERT INTO filler VALUES (zeroblob(1000000))');
  } finally {
    database.pragma('max_page_count = 1000000');
  }
}

const faults: readonly [string, Fault][] = [
  ...['SQLITE_FULL', 'SQLITE_CORRUPT', 'SQLITE_IOERR_WRITE', 'SQLITE_CANTOPEN', 'SQLITE_READONLY', 'SQLITE_NOTADB'].map(
    (code): [string, Fault] => [
      `a statement of the merchant's: ${code}`,
      (context) => context.transaction(throwing(sqliteError(code))),
    ],
  ),
  ['a file that may not grow', (context) => context.transaction(fill)],
  [
    'a statement of a query builder, which wraps what SQLite says',
    (context) => context.transaction(throwing(new Error('Failed query', { cause: sqliteError('SQLITE_IOERR_FSYNC') }))),
  ],
  [
    'a query builder that wraps what a file that may not grow has done',
    (context) =>
      context.transaction((database) => {
        try {
          fill(database);
        } catch (cause) {
          throw new Error('Failed query', { cause });
        }
      }),
  ],
  [
    'a handler that wraps what its transaction says',
    async (context) => {
      await context.transaction(throwing(sqliteError('SQLITE_FULL'))).catch((cause: unknown) => {
        throw new Error('the order was not booked', { cause });
      });
    },
  ],
  [
    'a transaction that the handler does not wait for',
    (context) => void context.transaction(throwing(sqliteError('SQLITE_FULL'))),
  ],
];

async function handled(inbox: Inbox, fault: Fault) {
  const log = recordedLog();
  await store(inbox, orderEvent('evt_1'));
  let runs = 0;
  await using running = createProcessor({
    inbox,
    logger: log.logger,
    processing: { retry: { attempts: 2, baseMs: 1, maxMs: 2 } },
    handlers: {
      '*': async (_, context) => {
        runs += 1;
        if (runs <= FAULTS) await fault(context);
        else await context.transaction(() => {});
      },
    },
  });
  await running.start();
  await expect.poll(async () => (await inbox.get(KEY))?.state).toMatch(/^(processed|dead)$/);
  const attempts = await inbox.attempts(KEY);
  return { state: (await inbox.get(KEY))?.state, outcomes: attempts.map(({ outcome }) => outcome), log };
}

const MENDED = { state: 'processed', outcomes: ['interrupted', 'interrupted', 'interrupted', 'processed'] };

describe.each([
  ['a file of its own, in a thread', () => sqliteInbox(scratchFile())],
  ['a file of its own, on the loop', () => sqliteInbox(scratchFile(), { thread: false })],
  ["the merchant's connection", () => sqliteInbox({ database: merchantDatabase() })],
])('a failure of the file in ctx.transaction uses up no attempt: %s', (_, open) => {
  it('whoever meets it, and however it is wrapped', async () => {
    const outcomes = await Promise.all(
      faults.map(async ([name, fault]) => {
        await using inbox = open();
        const { state, outcomes } = await handled(inbox, fault);
        return [name, { state, outcomes }];
      }),
    );
    expect(Object.fromEntries(outcomes)).toEqual(Object.fromEntries(faults.map(([name]) => [name, MENDED])));
  });

  it.each([
    ['a constraint', sqliteError('SQLITE_CONSTRAINT_UNIQUE')],
    ['an error of the shop', sqliteError('E_SHOP')],
    ['an error because of one of the shop', new Error('no', { cause: sqliteError('E_SHOP') })],
    [
      'an error whose cause cannot be asked for',
      Object.defineProperty(new Error('no'), 'cause', { get: throwing('no') }),
    ],
  ])('but %s does', async (__, thrown) => {
    await using inbox = open();
    const { state, outcomes } = await handled(inbox, (context) => context.transaction(throwing(thrown)));
    expect({ state, outcomes }).toEqual({ state: 'dead', outcomes: ['failed', 'failed'] });
  });
});

it('a file that fails after the function has committed by itself does not have it run again', async () => {
  await using inbox = sqliteInbox(scratchFile());
  const { state, outcomes } = await handled(inbox, (context) =>
    context.transaction((database) => {
      database.exec('COMMIT');
      throw sqliteError('SQLITE_FULL');
    }),
  );
  expect({ state, runs: outcomes.length }).toEqual({ state: 'dead', runs: 1 });
});

it.each([true, false])('a file that cannot be opened uses up no attempt either; thread: %s', async (thread) => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file, { thread, logger: false });
  const outcome = await handled(inbox, async (context) => {
    for (const end of ['', '-wal', '-shm']) renameSync(`${file}${end}`, `${file}.away${end}`);
    writeFileSync(file, 'These are notes, not a database. '.repeat(200));
    try {
      await context.transaction(() => {});
    } finally {
      for (const end of ['', '-wal', '-shm']) renameSync(`${file}.away${end}`, `${file}${end}`);
    }
  });
  expect(outcome).toMatchObject(MENDED);
});

it('says in the log which fault it was, by the extended code of SQLite', async () => {
  await using inbox = sqliteInbox(scratchFile());
  const { log } = await handled(inbox, (context) =>
    context.transaction(throwing(sqliteError('SQLITE_IOERR_GETTEMPPATH'))),
  );
  const causes = log.lines.map(({ facts }) => facts['cause']).filter((cause) => cause !== undefined);
  expect(causes).toEqual(Array.from({ length: FAULTS }, () => 'disk I/O error (SQLITE_IOERR_GETTEMPPATH)'));
});
