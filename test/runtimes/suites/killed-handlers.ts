import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { createProcessor } from '../../../src/index.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { startHandling } from '../../crash/handling-child.ts';
import { later } from '../../helpers/incoming-event.ts';
import { orderEvent } from '../../helpers/order-event.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { silent } from '../../helpers/silent-logger.ts';
import type { Placement } from '../inbox-checks.ts';

const EVENTS = 60;

/** The short form of `test/crash/handling-kill.test.ts`. */
export function testKilledHandlers(placement: Placement): void {
  it('what handlers write happens exactly once, although their process is killed in the midst of it', async () => {
    const file = scratchFile();
    await using inbox = sqliteInbox(file, { thread: placement === 'thread' });
    const database = new Database(file);
    onTestFinished(() => void database.close());
    database.exec('CREATE TABLE effects (seq INTEGER PRIMARY KEY, event TEXT NOT NULL) STRICT');
    const ids = Array.from({ length: EVENTS }, (_, n) => `evt_${n}`);
    const order = (n: number) => ({ order: `ord_${n % 20}`, createdAt: n });
    await Promise.all(ids.map((id, n) => inbox.accept(orderEvent(id, order(n)), later())));
    const written = database.prepare<[], string>('SELECT event FROM effects ORDER BY event').pluck();
    const processed = database
      .prepare<[], string>("SELECT id FROM hookbox_events WHERE state = 'processed' ORDER BY id")
      .pluck();

    let interrupted = 0;
    while (interrupted === 0) {
      const child = await startHandling(file, 'effects', placement);
      await child.handled(3);
      child.kill();
      const { signal, running } = await child.ended;
      expect(signal, 'ended by itself').toBe('SIGKILL');
      interrupted += running.length;
      expect(written.all()).toEqual(processed.all());
    }
    expect(written.all().length).toBeLessThan(EVENTS);

    const processor = createProcessor({
      inbox,
      logger: silent,
      processing: { concurrency: 4, leaseMs: 300, retry: { baseMs: 10, maxMs: 100 } },
      handlers: {
        '*': ({ id }, context) =>
          context.transaction((own) => own.prepare('INSERT INTO effects (event) VALUES (?)').run(id)),
      },
    });
    await processor.start();
    await expect.poll(() => processed.all().length).toBe(EVENTS);
    await processor.close();
    expect(written.all()).toEqual(ids.toSorted());
  });
}
