import Database from 'better-sqlite3';
import { existsSync, readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { By } from '../../src/inbox/operator/acts.ts';
import { inboxOnFile, sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { operationsOf } from '../../src/ops/operations-of.ts';
import { eraseEntity } from '../../src/ops/erase.ts';
import { later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { testErasing } from './erasing.conformance.ts';
import { ANY, bury, FAILED, handled, plantDead } from './events-in-states.ts';

const ADA: By = { actor: 'ada', reason: 'request 17', now: START + 5 };
const EVENT = orderEvent('evt');
const ENTITY = 'order::evt';
const SECRET = 'Ada-Lovelace-St-James-Square';

let file: string;
let inbox: Inbox;
let database: Database.Database;

beforeEach(() => {
  ({ inbox, database, file } = inboxOnFile());
});

testErasing('erasing in SQLite', async () => ({
  inbox,
  logEmptied: true,
  async plantDead(...events) {
    plantDead(database, ...events);
  },
  async bury(id) {
    bury(database, id);
  },
  async kept() {
    const all = <T>(sql: string): T[] => database.prepare<[], T>(sql).pluck().all();
    return {
      terms: all<string>('SELECT term FROM hookbox_terms'),
      entities: all<string>('SELECT entity FROM hookbox_entities'),
      conflicts: all('SELECT 1 FROM hookbox_conflicts').length,
      fingerprints: all('SELECT 1 FROM hookbox_events WHERE fingerprint IS NOT NULL').length,
      erased: all<number>('SELECT erased_ms FROM hookbox_events WHERE erased_ms IS NOT NULL'),
    };
  },
  async breaksAt(seq) {
    database.exec(`
      CREATE TRIGGER broken BEFORE UPDATE OF body ON hookbox_events WHEN old.seq = ${seq}
      BEGIN SELECT RAISE(ABORT, 'no'); END
    `);
    return async () => void database.exec('DROP TRIGGER broken');
  },
  async actsMeanwhile(act, filter) {
    database.exec(`
      CREATE TRIGGER act AFTER UPDATE OF erased_ms ON hookbox_events BEGIN
        INSERT INTO hookbox_audit (at_ms, actor, via, act, filter, counts) VALUES (1, 'x', 'cli', '${act}', '${filter}', '{}');
      END;
    `);
  },
  onDisk: async (text) => onDisk(text),
}));

it('erasing leaves an event that is claimed between finding it and its turn', async () => {
  await store(inbox, EVENT);
  await operationsOf(inbox).indexNew(1);
  const erasing = operationsOf(inbox).erase('evt', ADA, {});
  const claiming = inbox.claimOne(EVENT, { ...ANY, now: START + 1 });
  expect([await erasing, await claiming]).toMatchObject([{ erased: 0, inProcessing: 1 }, { id: 'evt' }]);
  expect(await inbox.get(EVENT)).toMatchObject({ state: 'processing', body: EVENT.body, entity: ENTITY });
});

it('erasing ends a transaction early when bodies are large', async () => {
  const body = Buffer.alloc(300_000, 'x');
  for (let n = 0; n < 7; n += 1) await store(inbox, { ...orderEvent(`evt_${n}`, { order: 'ord_1' }), body });
  database.exec(`
    CREATE TABLE batches (counts TEXT);
    CREATE TRIGGER batch AFTER UPDATE OF counts ON hookbox_audit BEGIN INSERT INTO batches VALUES (new.counts); END;
  `);
  expect(await eraseEntity(inbox, 'ord_1', ADA)).toMatchObject({ erased: 7 });
  const erased = database.prepare<[], number>("SELECT counts ->> 'erased' FROM batches").pluck().all();
  expect(erased.length).toBeGreaterThanOrEqual(4);
  expect(erased.at(-1)).toBe(7);
});

describe('what is left on the disk after erasing', () => {
  it('holds nothing of the bodies, the errors, the other bodies and the name', async () => {
    const sizes = [40, 900, 2_500, 5_000, 70_000];
    const about = (n: number): { order: string; text: string } =>
      n % 9 === 4 ? { order: `ord_${SECRET}`, text: SECRET } : { order: `ord_${n}`, text: `Charles-Babbage-${n}` };
    const text = (n: number, other = 0): Buffer =>
      Buffer.from(`${other} ` + `${about(n).text} `.repeat(Math.ceil((sizes[(n + other * 4) % 5] ?? 1) / 30)));
    const events = Array.from({ length: 180 }, (_, n) => ({
      ...orderEvent(`evt_${n}`, { order: about(n).order, createdAt: n }),
      body: text(n),
    }));
    await inbox.announce({ endpoints: '*', types: '*' }, START, null);
    for (const [n, event] of events.entries()) {
      await inbox.accept(event, later());
      for (let other = 0; other < n % 4; other += 1) {
        await inbox.accept({ ...event, body: text(n, 1 + other) }, later());
      }
      if (n % 20 !== 19) continue;
      for (const attempt of [1, 2, 3]) {
        const now = START + n * 10 + attempt;
        for (const { id, lease } of await inbox.claim({ ...ANY, now }, 12)) {
          const { text: secret } = about(Number(id.slice(4)));
          const log = [{ afterMs: 1, level: 'info', text: `no ${secret}` }] as const;
          const error = { name: 'Error', message: `no ${secret}`, stack: `at ${secret}\n`.repeat(20) };
          if (attempt === 1) await inbox.settle(lease, { outcome: 'retry', error, dueAt: now, log }, now);
          if (attempt === 2) await inbox.settle(lease, { outcome: 'dead', reason: 'failed', error }, now);
          if (attempt === 3) await inbox.settle(lease, { outcome: 'processed', skipped: `no ${secret}` }, now);
        }
      }
    }
    await operationsOf(inbox).pruneSome({ settledBefore: new Date(START + 700) }, 20);
    expect(onDisk(SECRET)).not.toEqual([]);
    const claimed = database.prepare("SELECT count(*) FROM hookbox_events WHERE state = 'processing'").pluck().get();
    expect(claimed).toBe(0);

    expect(await eraseEntity(inbox, `ord_${SECRET}`, ADA)).toMatchObject({ erased: 20, logEmptied: true });
    expect(onDisk(SECRET)).toEqual([]);
    // The search does find what is there.
    expect(onDisk('Charles-Babbage-100')).not.toEqual([]);
    expect(await inbox.list({ limit: 500 })).toHaveLength(180);
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
  });

  it('is in the log until nobody reads any more', async () => {
    const body = Buffer.from(JSON.stringify({ id: 'evt', to: SECRET }));
    await handled(inbox, FAILED, { ...EVENT, body });
    const reading = database.prepare('SELECT id FROM hookbox_events').iterate();
    reading.next();
    expect(await eraseEntity(inbox, 'evt', ADA)).toMatchObject({ erased: 1, logEmptied: false });
    expect(onDisk(SECRET)).toEqual([`${file}-wal`]);
    const dryRun = { dryRun: true };
    expect(await eraseEntity(inbox, 'evt', ADA, dryRun)).toMatchObject({ erased: 0, logEmptied: false });
    reading.return?.();
    // The command and the page look first, and go no further when they find nothing.
    expect(await eraseEntity(inbox, 'evt', ADA, dryRun)).toMatchObject({ erased: 0, logEmptied: true });
    expect(onDisk(SECRET)).toEqual([]);
  });

  it('is nothing in the log either on a connection whose numbers are bigints', async () => {
    const bigints = new Database(file);
    onTestFinished(() => void bigints.close());
    bigints.defaultSafeIntegers(true);
    await handled(inbox, FAILED, EVENT);
    await using adopted = sqliteInbox({ database: bigints });
    expect(await eraseEntity(adopted, 'evt', ADA)).toMatchObject({ erased: 1, logEmptied: true });
  });

  it.each(['OFF', 'ON', 'FAST'])('is decided without changing secure_delete = %s of a connection', async (setting) => {
    const own = merchantDatabase(scratchFile('own.db'));
    own.pragma(`secure_delete = ${setting}`);
    own.pragma('busy_timeout = 777');
    const before = own.pragma('secure_delete', { simple: true });
    await using adopted = sqliteInbox({ database: own });
    await handled(adopted, FAILED, { ...EVENT, body: Buffer.from(SECRET) });
    expect(await eraseEntity(adopted, 'evt', ADA)).toMatchObject({ erased: 1, logEmptied: true });
    expect(own.pragma('secure_delete', { simple: true })).toBe(before);
    expect(own.pragma('busy_timeout', { simple: true })).toBe(777);
  });
});

function onDisk(text: string): string[] {
  return [file, `${file}-wal`, `${file}-shm`].filter((path) => existsSync(path) && readFileSync(path).includes(text));
}
