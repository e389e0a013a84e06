// @module-tag long
import Database from 'better-sqlite3';
import { rmSync } from 'node:fs';
import { platform } from 'node:os';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Inbox } from '../../../src/inbox/contract.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { Child } from '../../helpers/child.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { merchantDatabase } from '../../helpers/merchant-database.ts';
import { seenByAnotherProcess } from '../../helpers/other-sqlite.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';

const SERVER = new URL('another-library-process.ts', import.meta.url);
const report = z.object({
  acknowledged: z.array(z.string()),
  refused: z.array(z.tuple([z.string(), z.number()])),
  done: z.number(),
  warnings: z.array(z.string()),
});

async function killed(placement: 'thread' | 'loop', how: 'looks' | 'writes') {
  const file = scratchFile();
  const said = await (async () => {
    await using server = await Child.bundled(SERVER, [file, placement, how]);
    return report.parse(JSON.parse(await server.line()));
  })();
  const database = new Database(file);
  const faults = database.pragma('integrity_check', { simple: true });
  const stored = new Set(database.prepare('SELECT id FROM hookbox_events').pluck().all());
  const orders = how === 'writes' ? database.prepare('SELECT count(*) FROM orders').pluck().get() : null;
  database.close();
  return { ...said, faults, orders, missing: said.acknowledged.filter((id) => !stored.has(id)).length };
}

// Two copies of SQLite in one process do not respect each other's locks. Only Linux reports who has a file open.
describe.runIf(platform() === 'linux')('another SQLite library in the process', () => {
  it.each(['thread', 'loop'] as const)(
    'that opens the file and closes it again, and with it deletes the log: %s',
    async (placement) => {
      const { acknowledged, missing, faults, done, warnings } = await killed(placement, 'looks');
      expect({ missing, faults }).toEqual({ missing: 0, faults: 'ok' });
      expect(done).toBeGreaterThan(3);
      expect(acknowledged.length).toBeGreaterThan(100);
      expect(acknowledged.slice(-3)).toEqual(['last_0', 'last_1', 'last_2']);
      expect(warnings).toHaveLength(placement === 'thread' ? 1 : 0);
    },
  );

  it.each(['thread', 'loop'] as const)('that writes to the file beside deliveries: %s', async (placement) => {
    const { acknowledged, missing, faults, done, orders, warnings } = await killed(placement, 'writes');
    expect({ missing, faults, orders }).toEqual({ missing: 0, faults: 'ok', orders: done });
    expect(acknowledged.length).toBeGreaterThan(100);
    expect(warnings).toHaveLength(placement === 'thread' ? 1 : 0);
  });
});

describe('a log that is deleted while it is in use', () => {
  it.each(['thread', 'loop'] as const)(
    'is made anew, and nothing that was acknowledged is lost: %s',
    async (placement) => {
      const file = scratchFile();
      const log = recordedLog();
      await using inbox = sqliteInbox(file, { thread: placement === 'thread', logger: log.logger });
      const acknowledged = await delivered(inbox, 'before');
      rmSync(`${file}-wal`);
      acknowledged.push(...(await delivered(inbox, 'after')));
      expect(acknowledged).toContain('after_9');
      expect(seenByAnotherProcess(file)).toEqual(acknowledged);
      expect(log.lines).toHaveLength(placement === 'thread' ? 1 : 0);
    },
  );

  it.each(['thread', 'loop'] as const)(
    "of a merchant's connection keeps the inbox from answering 2xx: %s",
    async (placement) => {
      const file = scratchFile();
      const database = merchantDatabase(file);
      const { logger } = recordedLog();
      await using inbox = sqliteInbox({ database }, { thread: placement === 'thread', logger });
      const acknowledged = await delivered(inbox, 'before');
      expect(acknowledged).toHaveLength(10);
      rmSync(`${file}-wal`);
      expect(await delivered(inbox, 'after')).toEqual([]);
      await expect(inbox.accept(incoming(), later())).rejects.toThrow(/Reopen your connection/);
    },
  );

  it.runIf(platform() === 'linux')("is the merchant's to delete, who leaves WAL and comes back", async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database }, { thread: false });
    await inbox.accept(incoming(), later());
    database.pragma('journal_mode = DELETE');
    database.pragma('journal_mode = WAL');
    expect((await inbox.accept(incoming({ id: 'evt_2' }), later())).result).toBe('stored');
  });

  it('is not made anew while another connection of the process still writes to the old one', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file, { thread: false });
    await inbox.accept(incoming({ id: 'before' }), later());
    const merchant = merchantDatabase(file);
    rmSync(`${file}-wal`);
    await expect(inbox.accept(incoming({ id: 'after' }), later())).rejects.toThrow(/Close that connection/);
    merchant.close();
    expect((await inbox.accept(incoming({ id: 'after' }), later())).result).toBe('stored');
    expect(seenByAnotherProcess(file)).toEqual(['before', 'after']);
  });

  it.each(['thread', 'loop'] as const)('after a checkpoint it is the same log: %s', async (placement) => {
    const file = scratchFile();
    const log = recordedLog();
    await using inbox = sqliteInbox(file, { thread: placement === 'thread', logger: log.logger });
    await delivered(inbox, 'before');
    const other = new Database(file);
    other.pragma('wal_checkpoint(TRUNCATE)');
    other.close();
    expect(await delivered(inbox, 'after')).toHaveLength(10);
    expect(log.lines).toEqual([]);
  });
});

async function delivered(inbox: Inbox, name: string): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let n = 0; n < 10; n += 1) {
    const id = `${name}_${n}`;
    const accepted = await inbox.accept(incoming({ id, entity: null }), later()).catch(() => null);
    if (accepted !== null) acknowledged.push(id);
  }
  return acknowledged;
}
