import Database from 'better-sqlite3';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createProcessor } from '../../../src/processing/processor.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { merchantDatabase } from '../../helpers/merchant-database.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';

function replaceBy(file: string, copy: string): void {
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  renameSync(file, `${file}.old`);
  copyFileSync(copy, file);
}

describe("a merchant's connection whose file was replaced", () => {
  it('is not written to: what handlers did would be in a file that nobody reads', async () => {
    const file = scratchFile();
    const database = merchantDatabase(file);
    const log = recordedLog();
    await using inbox = sqliteInbox({ database }, { logger: log.logger });
    await inbox.accept(orderEvent('before', { order: 'ord_1' }), later());
    await inbox.operations?.backup(`${file}.copy`);
    replaceBy(file, `${file}.copy`);
    await inbox.accept(orderEvent('after', { order: 'ord_2' }), later());
    const ran: number[] = [];
    await using processor = createProcessor({
      inbox,
      logger: log.logger,
      processing: { retry: { attempts: 2, baseMs: 5, maxMs: 10 } },
      handlers: {
        '*': async (_, context) => {
          ran.push(context.attempt);
          await context.transaction((own) => void own.exec("INSERT INTO orders VALUES ('ord_' || random(), 1)"));
        },
      },
    });
    await processor.start();
    await expect.poll(() => Math.max(0, ...ran)).toBeGreaterThan(3);
    await processor.close();
    expect(database.prepare('SELECT count(*) FROM orders').pluck().get()).toBe(2);
    const lies = new Database(file, { readonly: true });
    expect(lies.prepare('SELECT id, state, failures FROM hookbox_events').all()).toEqual([
      { id: 'before', state: 'pending', failures: 0 },
      { id: 'after', state: 'pending', failures: 0 },
    ]);
    lies.close();
    expect(log.lines.some(({ facts }) => /Reopen your connection/.test(JSON.stringify(facts)))).toBe(true);
  });

  it('takes no delivery on the event loop', async () => {
    const file = scratchFile();
    const database = merchantDatabase(file);
    await using inbox = sqliteInbox({ database }, { thread: false });
    await inbox.accept(incoming({ id: 'before' }), later());
    await inbox.operations?.backup(`${file}.copy`);
    replaceBy(file, `${file}.copy`);
    await expect(inbox.accept(incoming({ id: 'after' }), later())).rejects.toThrow(
      /was replaced by another file. Reopen your connection/,
    );
  });
});
