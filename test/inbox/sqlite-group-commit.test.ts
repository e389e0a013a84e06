import Database from 'better-sqlite3';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { Acceptance, IncomingEvent } from '../../src/inbox/event.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later, severalIncoming } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

describe('what arrives together', () => {
  it('shares its commits: a thousand events need a handful', async () => {
    const file = scratchFile('new.db');
    await using inbox = sqliteInbox(file);
    const before = commitsInLog(file);
    const outcomes = await settle(inbox, severalIncoming(1_000));
    expect(outcomes).toEqual(Array.from({ length: 1_000 }, () => 'stored'));
    const commits = commitsInLog(file) - before;
    expect(commits).toBeGreaterThanOrEqual(1);
    expect(commits).toBeLessThanOrEqual(1_000 / 100);
  });

  it('shares its commits on the connection of a merchant too', async () => {
    const executed: string[] = [];
    const database = merchantDatabase(scratchFile(), { verbose: (sql) => executed.push(String(sql)) });
    await using inbox = sqliteInbox({ database }, { thread: false });
    executed.length = 0;
    await settle(inbox, severalIncoming(1_000));
    expect(executed.filter((sql) => sql.includes('INSERT INTO hookbox_events'))).toHaveLength(1_000);
    expect(executed.filter((sql) => sql === 'COMMIT').length).toBeLessThanOrEqual(1_000 / 100);
  });

  it('counts commits honestly: events that come one after the other need one each', async () => {
    const file = scratchFile('new.db');
    await using inbox = sqliteInbox(file);
    const before = commitsInLog(file);
    for (const event of severalIncoming(20)) await inbox.accept(event, later());
    expect(commitsInLog(file) - before).toBe(20);
  });

  it('is stored in portions, so that the event loop turns between two commits', async () => {
    await using inbox = sqliteInbox(scratchFile(), { thread: false });
    let turn = 0;
    let running = true;
    const count = (): void => {
      turn += 1;
      if (running) setImmediate(count);
    };
    setImmediate(count);
    const answeredInTurn = new Map<number, number>();
    await Promise.all(
      severalIncoming(4_000).map(async (event) => {
        await inbox.accept(event, later());
        answeredInTurn.set(turn, (answeredInTurn.get(turn) ?? 0) + 1);
      }),
    );
    running = false;
    expect(Math.max(...answeredInTurn.values())).toBeLessThanOrEqual(1_000);
    expect(answeredInTurn.size).toBeGreaterThanOrEqual(4);
  });

  it('is stored in portions of bytes as well', async () => {
    const file = scratchFile('new.db');
    await using inbox = sqliteInbox(file);
    const before = commitsInLog(file);
    const body = new Uint8Array(1024 * 1024);
    expect(await settle(inbox, severalIncoming(16, { body }))).toEqual(Array.from({ length: 16 }, () => 'stored'));
    expect(commitsInLog(file) - before).toBeGreaterThanOrEqual(3);
  });
});

describe('one row that fails', () => {
  it.each(['ABORT', 'FAIL', 'ROLLBACK'])('fails alone when a trigger raises %s', async (action) => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await inbox.list(); // a thread is there before the trigger, or there would be none
    refuse(database, 'evt_50', action);
    const events = severalIncoming(100);
    const expected = events.map(({ id }) => (id === 'evt_50' ? 'FAILED' : 'stored'));
    expect(await settle(inbox, events)).toEqual(expected);
    expect((await inbox.list()).map(({ id }) => id)).toEqual(
      events.map(({ id }) => id).filter((id) => id !== 'evt_50'),
    );

    database.exec('DROP TRIGGER refuse');
    expect(await settle(inbox, events)).toEqual(events.map(({ id }) => (id === 'evt_50' ? 'stored' : 'duplicate')));
  });

  it('fails alone when it breaks a rule of the table', async () => {
    await using inbox = sqliteInbox(scratchFile());
    const [first, second, third] = severalIncoming(3);
    const events = [first, { ...second, type: null }, third] as IncomingEvent[];
    expect(await settle(inbox, events)).toEqual(['stored', 'FAILED', 'stored']);
    expect((await inbox.list()).map(({ id }) => id)).toEqual(['evt_0', 'evt_2']);
  });

  it('says what was wrong, with the failure as its cause', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await inbox.list(); // a thread is there before the trigger, or there would be none
    refuse(database, 'evt_1', 'ABORT');
    await expect(inbox.accept(incoming(), later())).rejects.toMatchObject({
      name: 'InboxUnavailableError',
      code: 'FAILED',
      message: 'the merchant said no (SQLITE_CONSTRAINT_TRIGGER)',
      cause: { code: 'SQLITE_CONSTRAINT_TRIGGER' },
    });
  });

  it('leaves no half of a redelivery behind', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await settle(inbox, severalIncoming(3));
    database.exec(`
      CREATE TRIGGER refuse BEFORE INSERT ON hookbox_conflicts BEGIN SELECT RAISE(ABORT, 'the merchant said no'); END
    `);
    expect(await settle(inbox, severalIncoming(3, { body: 'other' }))).toEqual(['FAILED', 'FAILED', 'FAILED']);
    expect((await inbox.list()).map(({ redeliveries }) => redeliveries.count)).toEqual([0, 0, 0]);
  });

  it('is answered no sooner and no later than the others of its group have their commit', async () => {
    const file = scratchFile();
    const database = merchantDatabase(file);
    await using inbox = sqliteInbox({ database });
    const reader = otherConnection(file);
    await inbox.list(); // as above
    refuse(database, 'evt_0', 'ABORT');
    const count = reader.prepare<[], number>('SELECT count(*) FROM hookbox_events').pluck();
    const onDiskWhenAnswered: (number | undefined)[] = [];
    await Promise.all(
      severalIncoming(10).map(async (event) => {
        await inbox.accept(event, later()).catch(() => null);
        onDiskWhenAnswered.push(count.get());
      }),
    );
    expect(onDiskWhenAnswered).toEqual(Array.from({ length: 10 }, () => 9));
  });
});

describe('an answer', () => {
  it('comes only when another connection can read the event', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const find = otherConnection(file).prepare<[string], number>('SELECT 1 FROM hookbox_events WHERE id = ?').pluck();
    const found: (number | undefined)[] = [];
    await Promise.all(
      severalIncoming(200).map(async (event) => {
        await inbox.accept(event, later());
        found.push(find.get(event.id));
      }),
    );
    expect(found).toEqual(Array.from({ length: 200 }, () => 1));
  });
});

describe('the queue', () => {
  it('takes maxWaiting deliveries, refuses the next ones at once, and takes more when there is room', async () => {
    await using inbox = sqliteInbox(scratchFile(), { maxWaiting: 10 });
    const events = severalIncoming(15);
    const order: string[] = [];
    await Promise.all(events.map(async (event) => order.push(await outcomeOf(inbox, event))));
    expect(order).toEqual([...repeat('OVERLOADED', 5), ...repeat('stored', 10)]);
    expect(await settle(inbox, events.slice(10))).toEqual(repeat('stored', 5));
  });

  it('takes maxWaitingBytes of bodies, refuses more, and takes more when there is room', async () => {
    const body = new Uint8Array(10_000);
    await using inbox = sqliteInbox(scratchFile(), { maxWaitingBytes: 100_000 });
    const outcomes = await settle(inbox, severalIncoming(30, { body }));
    const stored = outcomes.filter((outcome) => outcome === 'stored').length;
    expect(stored).toBeLessThanOrEqual(10);
    expect(stored).toBeGreaterThanOrEqual(8);
    expect(outcomes.filter((outcome) => outcome === 'OVERLOADED')).toHaveLength(30 - stored);
    expect(await settle(inbox, severalIncoming(8, { body, endpoint: 'other' }))).toEqual(repeat('stored', 8));
  });

  it.each([
    ['of deliveries', { maxWaiting: 10 }],
    ['of bytes', { maxWaitingBytes: 10 * (100 + 512) }],
  ])('keeps its bound %s while it waits for a lock, and has its whole room afterwards', async (_, limits) => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file, limits);
    const body = new Uint8Array(100);
    const holder = otherConnection(file);
    holder.exec('BEGIN IMMEDIATE');
    const waiting = settle(inbox, severalIncoming(10, { body }));
    await sleep(100); // it has tried and failed a few times by now
    expect(await settle(inbox, severalIncoming(3, { body, endpoint: 'other' }))).toEqual(repeat('OVERLOADED', 3));
    holder.exec('COMMIT');
    expect(await waiting).toEqual(repeat('stored', 10));
    expect(await settle(inbox, severalIncoming(11, { body, endpoint: 'other' }))).toEqual([
      ...repeat('stored', 10),
      'OVERLOADED',
    ]);
  });

  it('loses what is late while it waits for a lock, and has its whole room again', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file, { maxWaiting: 10, maxWaitingBytes: 10 * (100 + 512) });
    const body = new Uint8Array(100);
    const holder = otherConnection(file);
    holder.exec('BEGIN IMMEDIATE');
    expect(await settle(inbox, severalIncoming(10, { body }), 150)).toEqual(repeat('DEADLINE', 10));
    const patient = settle(inbox, severalIncoming(10, { body, endpoint: 'patient' }));
    holder.exec('COMMIT');
    expect(await patient).toEqual(repeat('stored', 10));
    expect((await inbox.list()).map(({ endpoint }) => endpoint)).toEqual(repeat('patient', 10));
  });

  it('keeps the order of arrival while it waits for a lock, also where it needs several commits', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file);
    const holder = otherConnection(file);
    holder.exec('BEGIN IMMEDIATE');
    const events = severalIncoming(1_500);
    const waiting: Promise<string[]>[] = [];
    for (let at = 0; at < events.length; at += 300) {
      waiting.push(settle(inbox, events.slice(at, at + 300)));
      await sleep(30);
    }
    holder.exec('COMMIT');
    await Promise.all(waiting);
    expect((await inbox.list({ limit: 2_000 })).map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  it('tries again and again while it waits for a lock, but not in every turn of the event loop', async () => {
    const file = scratchFile();
    const executed: string[] = [];
    const database = merchantDatabase(file, { verbose: (sql) => executed.push(String(sql)) });
    await using inbox = sqliteInbox({ database }, { thread: false });
    const holder = otherConnection(file);
    holder.exec('BEGIN IMMEDIATE');
    executed.length = 0;
    const waiting = settle(inbox, severalIncoming(10));
    // By turns, not by time: on a busy machine, both come later.
    const start = performance.now();
    for (let turn = 0; turn < 30; turn += 1) await sleep(10);
    const milliseconds = performance.now() - start;
    const tries = executed.filter((sql) => sql === 'BEGIN IMMEDIATE').length;
    holder.exec('COMMIT');
    expect(await waiting).toEqual(repeat('stored', 10));
    expect(tries).toBeGreaterThan(7); // a try waits for 25 ms at most: three turns
    expect(tries).toBeLessThan(milliseconds / 3);
  });

  it('is emptied by close even where deliveries wait for a lock', async () => {
    const file = scratchFile('closed.db');
    const inbox = sqliteInbox(file);
    const holder = otherConnection(file);
    holder.exec('BEGIN IMMEDIATE');
    const waiting = settle(inbox, severalIncoming(10));
    let closed = false;
    const closing = inbox.close().then(() => (closed = true));
    await sleep(100);
    expect(closed).toBe(false);
    holder.exec('COMMIT');
    await closing;
    expect(await waiting).toEqual(repeat('stored', 10));
  });
});

/** Counts the frames of the log that carry the size of the database: each ends a transaction. */
function commitsInLog(file: string): number {
  const log = readFileSync(`${file}-wal`);
  const frame = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frame <= log.length; at += frame) if (log.readUInt32BE(at + 4) > 0) commits += 1;
  return commits;
}

function refuse(database: Database.Database, id: string, action: string): void {
  const raise = `RAISE(${action}, 'the merchant said no')`;
  database.exec(
    `CREATE TRIGGER refuse BEFORE INSERT ON hookbox_events WHEN NEW.id = '${id}' BEGIN SELECT ${raise}; END`,
  );
}

function otherConnection(file: string): Database.Database {
  const database = new Database(file);
  onTestFinished(() => void database.close());
  return database;
}

async function outcomeOf(inbox: Inbox, event: IncomingEvent, withinMs = 30_000): Promise<string> {
  return inbox.accept(event, performance.now() + withinMs).then(
    ({ result }: Acceptance) => result,
    (failure: unknown) => {
      if (failure instanceof InboxUnavailableError) return failure.code;
      throw failure;
    },
  );
}

function settle(inbox: Inbox, events: readonly IncomingEvent[], withinMs?: number): Promise<string[]> {
  return Promise.all(events.map((event) => outcomeOf(inbox, event, withinMs)));
}

function repeat(outcome: string, times: number): string[] {
  return Array.from({ length: times }, () => outcome);
}
