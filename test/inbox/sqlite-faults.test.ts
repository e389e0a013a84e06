import Database from 'better-sqlite3';
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import type { Logger } from '../../src/host/logger.ts';
import type { Outcome } from '../../src/receive/outcome.ts';
import { createReceiver, type Receiver } from '../../src/receive/receiver.ts';
import { Child } from '../helpers/child.ts';
import { OFTEN_COPIED, withRewrites } from '../helpers/often-copied.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { orderDelivery, SECRET } from '../helpers/order-delivery.ts';
import { silent } from '../helpers/silent-logger.ts';
import { ownFolder, scratchFile } from '../helpers/scratch-folder.ts';

const LOCK_HOLDER = new URL('lock-holder.ts', import.meta.url);
const DELIVERIES = new URL('deliveries-under-lock.ts', import.meta.url);
const SMALL_DISK = new URL('small-disk.ts', import.meta.url);
const LOCKED_MS = 5_000;
const PLACEMENTS = ['thread', 'loop'] as const;
type Placement = (typeof PLACEMENTS)[number];
const FILES_OF_A_DATABASE = ['', '-wal', '-shm'];

const answer = z.object({ id: z.string(), status: z.number(), retryAfter: z.string().nullable() });
const lockReport = z.object({
  patient: z.array(answer),
  hasty: z.array(answer),
  afterwards: z.array(answer),
  stalled: z.number(),
});
const diskReport = z.object({ stored: z.array(z.string()), refused: z.array(z.string()) });

describe.each(PLACEMENTS)('while another process holds the lock of the database for five seconds: %s', (placement) => {
  const scenarios = ['a file of its own', "a merchant's connection", 'a file that was replaced just before'] as const;
  const folder = ownFolder();
  let reports: Record<(typeof scenarios)[number], z.infer<typeof lockReport>>;

  beforeAll(async () => {
    const [own, connection, replaced] = await Promise.all([
      deliverUnderLock(placement, 'file', `${folder.path}/own.db`),
      deliverUnderLock(placement, 'connection', `${folder.path}/connection.db`),
      deliverUnderLock(placement, 'file', `${folder.path}/replaced.db`, replaceByFreshInbox),
    ]);
    reports = {
      'a file of its own': own,
      "a merchant's connection": connection,
      'a file that was replaced just before': replaced,
    };
  }, 40_000);
  afterAll(() => folder[Symbol.dispose]());

  describe.each(scenarios)('%s', (scenario) => {
    it('no wait for it blocks the event loop for more than 100 ms', () => {
      expect(reports[scenario].stalled).toBeLessThan(0.25);
    });

    it('who can wait is answered 200 when it is released', () => {
      expect(reports[scenario].patient.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, () => 200));
    });

    it('whose deadline comes first is answered 503 with Retry-After', () => {
      const answers = reports[scenario].hasty.map(({ status, retryAfter }) => `${status} ${retryAfter ?? ''}`);
      expect(answers).toEqual(Array.from({ length: 30 }, () => '503 5'));
    });

    it('all is well afterwards', () => {
      expect(reports[scenario].afterwards.map(({ status }) => status)).toEqual([200, 200]);
    });
  });

  it('what was answered 200 is stored, and what was answered 503 is not', async () => {
    await using inbox = sqliteInbox(`${folder.path}/own.db`);
    const stored = await inbox.list({ limit: 1_000 });
    const idsOf = (endpoint: string) => stored.filter((event) => event.endpoint === endpoint).map(({ id }) => id);
    const { patient } = reports['a file of its own'];
    expect(idsOf('patient').slice(50)).toEqual([...patient.map(({ id }) => id), 'evt_after']);
    expect(idsOf('hasty').slice(50)).toEqual(['evt_after']);
  });
});

describe('a database that is full', () => {
  it('answers 503 and takes deliveries again when there is room', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true })) + 8}`);

    const full = await receiveEach(receiver, 'early', 200);
    expect(full.stored.length).toBeGreaterThan(0);
    expect(full.refused.length).toBeGreaterThan(0);
    expect(full.refused.every((outcome) => outcome.status === 503)).toBe(true);
    expect(full.refused[0]).toMatchObject({ reason: 'inbox-failing', headers: { 'Retry-After': '5' } });
    expect(database.inTransaction).toBe(false);

    database.pragma('max_page_count = 100000');
    const again = await receiveEach(receiver, 'late', 50);
    expect(again.refused).toEqual([]);
    expect(await idsIn(inbox)).toEqual([...full.stored, ...again.stored]);
  });

  it('stores of a group what there is room for, and says which', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true })) + 8}`);
    const ids = Array.from({ length: 400 }, (_, n) => `evt_${n}`);
    const outcomes = await Promise.all(ids.map((id) => receiver.receive(orderDelivery(id))));
    const stored = ids.filter((_, at) => outcomes[at]?.status === 200);
    expect(stored.length).toBeGreaterThan(0);
    expect(outcomes.filter(({ status }) => status === 503)).toHaveLength(400 - stored.length);
    expect(await idsIn(inbox)).toEqual(stored);
  });
});

describe.each([
  ...PLACEMENTS.map((placement) => [placement, placement, []] as const),
  ['thread, beside another', 'thread', withRewrites(OFTEN_COPIED)] as const,
])('a disk that takes no more writes: %s', (_, placement, sources) => {
  it.skipIf(process.platform === 'win32')(
    'answers 503, keeps what was answered 200, and goes on when there is room',
    async () => {
      const file = scratchFile();
      // In blocks of 512 or 1,024 bytes: no file may grow beyond 300 or 600 KiB. The signal would end Deno.
      const around = ['/bin/sh', '-c', 'trap "" XFSZ; ulimit -f 600; exec "$@"', 'sh', ...sources];
      const rewritten = sources.length > 0; // of each source file
      await using child = rewritten
        ? new Child(SMALL_DISK, [file, placement], around)
        : await Child.bundled(SMALL_DISK, [file, placement], around);
      expect(await child.line()).toBe('ready');
      const ask = async (deliveries: number) => {
        child.say(String(deliveries));
        return diskReport.parse(JSON.parse(await child.line()));
      };

      const before = { stored: [] as string[], refused: [] as string[] };
      for (let round = 0; round < 40 && before.refused.length < 20; round += 1) {
        const { stored, refused } = await ask(50);
        before.stored.push(...stored);
        before.refused.push(...refused);
      }
      expect(before.stored.length).toBeGreaterThan(0);
      expect(before.refused.length).toBeGreaterThanOrEqual(20);

      const operator = new Database(file);
      operator.pragma('wal_checkpoint(TRUNCATE)');
      const after = await ask(10);
      expect(after.refused).toEqual([]);
      expect(operator.pragma('quick_check', { simple: true })).toBe('ok');
      const kept = operator.prepare<[], string>('SELECT id FROM hookbox_events').pluck().all();
      expect(kept).toEqual(expect.arrayContaining([...before.stored, ...after.stored]));
      operator.close();
      await child.finish();
    },
  );
});

describe('a database that may only be read', () => {
  it('answers 503 while it is so, and takes deliveries again afterwards', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    await receiveEach(receiver, 'before', 3);
    database.pragma('query_only = 1');
    const during = await receiveEach(receiver, 'during', 3);
    expect(during.refused.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(database.pragma('query_only', { simple: true })).toBe(1);
    database.pragma('query_only = 0');
    expect((await receiveEach(receiver, 'during', 3)).refused).toEqual([]);
    expect(await idsIn(inbox)).toHaveLength(6);
  });
});

describe('a file of its own that was replaced by another inbox', () => {
  it.each(PLACEMENTS)('is the one that takes events from then on: %s', async (placement) => {
    const file = scratchFile();
    await using inbox = opened(file, placement);
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    await receiveEach(receiver, 'old', 5);
    await replaceByFreshInbox(file);

    expect((await receiveEach(receiver, 'new', 5)).refused).toEqual([]);
    await using fresh = sqliteInbox(file);
    expect(await idsIn(fresh)).toEqual(['new_0', 'new_1', 'new_2', 'new_3', 'new_4']);
    expect(await idsIn(inbox)).toEqual(await idsIn(fresh));
    await using old = sqliteInbox(`${file}.old`);
    expect(await idsIn(old)).toEqual(['old_0', 'old_1', 'old_2', 'old_3', 'old_4']);
  });

  it('is written with synchronous = FULL as well', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    await replaceByFreshInbox(file);
    const pragma = vi.spyOn(Database.prototype, 'pragma');
    await receiveEach(receiver, 'new', 5);
    const opened: unknown = pragma.mock.contexts.at(-1);
    pragma.mockRestore();
    if (!(opened instanceof Database)) throw new Error('nothing was opened');
    expect(opened.pragma('synchronous', { simple: true })).toBe(2);
  });
});

describe.each(PLACEMENTS)('a file of its own that was deleted: %s', (placement) => {
  it('answers 503, tells the log to put it back, and makes no new one that would have forgotten all events', async () => {
    const file = scratchFile();
    await using inbox = opened(file, placement);
    const logged: unknown[] = [];
    const receiver = createReceiver({ secret: SECRET, inbox, logger: loggingTo(logged) });
    await receiveEach(receiver, 'evt', 3);
    deleteDatabase(file);
    const { refused } = await receiveEach(receiver, 'evt', 3);
    expect(refused.map(({ status, headers }) => [status, headers['Retry-After']])).toEqual([
      [503, '5'],
      [503, '5'],
      [503, '5'],
    ]);
    expect(logged).toEqual([expect.stringMatching(/shop\.db is gone.*Put the file back/)]);
    expect(existsSync(file)).toBe(false);
  });

  it('takes deliveries again when it is put back', async () => {
    const file = scratchFile();
    await using inbox = opened(file, placement);
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    await receiveEach(receiver, 'evt', 3);
    move(file, `${file}.away`);
    expect((await receiveEach(receiver, 'evt', 4)).refused).toHaveLength(4);
    move(`${file}.away`, file);
    expect((await receiveEach(receiver, 'evt', 4)).refused).toEqual([]);
    expect(await idsIn(inbox)).toEqual(['evt_0', 'evt_1', 'evt_2', 'evt_3']);
  });

  it('takes deliveries again when a backup is put in its place, and knows what the backup knows', async () => {
    const file = scratchFile();
    await using inbox = opened(file, placement);
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    await receiveEach(receiver, 'evt', 3);
    const operator = new Database(file);
    operator.exec(`VACUUM INTO '${file}.backup'`);
    operator.close();
    deleteDatabase(file);
    expect((await receiveEach(receiver, 'evt', 4)).refused).toHaveLength(4);
    copyFileSync(`${file}.backup`, file);
    const outcomes = await Promise.all(['evt_0', 'evt_3'].map((id) => receiver.receive(orderDelivery(id))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['duplicate', 'stored']);
    expect(await idsIn(inbox)).toEqual(['evt_0', 'evt_1', 'evt_2', 'evt_3']);
  });

  it('answers 503 while something else is in its place, which stays as it is', async () => {
    const file = scratchFile();
    await using inbox = opened(file, placement);
    const logged: unknown[] = [];
    const receiver = createReceiver({ secret: SECRET, inbox, logger: loggingTo(logged) });
    await receiveEach(receiver, 'evt', 3);
    move(file, `${file}.away`);
    writeFileSync(file, 'These are notes, not a database. '.repeat(200));
    expect((await receiveEach(receiver, 'evt', 4)).refused).toHaveLength(4);
    expect(logged).toEqual([expect.stringMatching(/shop\.db is not a SQLite database/)]);
    rmSync(file);
    move(`${file}.away`, file);
    expect((await receiveEach(receiver, 'evt', 4)).refused).toEqual([]);
  });
});

describe('a file of its own that is no database any more', () => {
  it('is tried once for all that wait together, not once for each of them', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const receiver = createReceiver({ secret: SECRET, inbox, logger: silent });
    await receiveEach(receiver, 'evt', 1);
    move(file, `${file}.away`);
    writeFileSync(file, 'These are notes, not a database. '.repeat(200));
    const closes = vi.spyOn(Database.prototype, 'close');
    const ids = Array.from({ length: 200 }, (_, n) => `evt_${n}`);
    const outcomes = await Promise.all(ids.map((id) => receiver.receive(orderDelivery(id))));
    const opened = closes.mock.calls.length; // what cannot be opened is closed again
    closes.mockRestore();
    expect(outcomes.every(({ status }) => status === 503)).toBe(true);
    expect(opened).toBeGreaterThan(0);
    expect(opened).toBeLessThanOrEqual(5);
  });
});

function opened(file: string, placement: Placement): Inbox {
  return sqliteInbox(file, { thread: placement === 'thread', logger: silent });
}

async function deliverUnderLock(
  placement: Placement,
  source: 'file' | 'connection',
  file: string,
  beforeLock: (file: string) => Promise<void> = async () => {},
): Promise<z.infer<typeof lockReport>> {
  await using deliveries = await Child.bundled(DELIVERIES, [source, file, placement]);
  expect(await deliveries.line()).toBe('ready');
  await beforeLock(file);
  await using holder = new Child(LOCK_HOLDER, [file, String(LOCKED_MS)]);
  expect(await holder.line()).toBe('locked');
  deliveries.say('go');
  expect(await holder.line()).toBe('released');
  const report = lockReport.parse(JSON.parse(await deliveries.line()));
  await deliveries.finish();
  return report;
}

async function receiveEach(receiver: Receiver, prefix: string, count: number) {
  const stored: string[] = [];
  const refused: Outcome[] = [];
  for (let n = 0; n < count; n += 1) {
    const outcome = await receiver.receive(orderDelivery(`${prefix}_${n}`));
    if (outcome.status === 200) stored.push(`${prefix}_${n}`);
    else refused.push(outcome);
  }
  return { stored, refused };
}

async function idsIn(inbox: Inbox): Promise<string[]> {
  return (await inbox.list({ limit: 10_000 })).map(({ id }) => id);
}

function loggingTo(causes: unknown[]): Logger {
  return { ...silent, error: (facts) => void causes.push(facts['cause']) };
}

async function replaceByFreshInbox(file: string): Promise<void> {
  await sqliteInbox(`${file}.new`).close();
  move(file, `${file}.old`);
  move(`${file}.new`, file);
}

function move(from: string, to: string): void {
  for (const suffix of FILES_OF_A_DATABASE) {
    if (existsSync(`${from}${suffix}`)) renameSync(`${from}${suffix}`, `${to}${suffix}`);
  }
}

function deleteDatabase(file: string): void {
  for (const suffix of FILES_OF_A_DATABASE) rmSync(`${file}${suffix}`, { force: true });
}
