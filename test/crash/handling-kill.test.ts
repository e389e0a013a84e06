// @module-tag long
// @module-tag repeated
// @module-tag dear
import Database from 'better-sqlite3';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { times } from '../helpers/times.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { later } from '../helpers/incoming-event.ts';
import { startHandling } from './handling-child.ts';

const KILLS = times(50, 12);
const EVENTS = times(2_000, 600);
const ORDERS = EVENTS / 5;

async function fileWithEvents(): Promise<string> {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  await Promise.all(
    Array.from({ length: EVENTS }, (_, n) =>
      inbox.accept(orderEvent(`evt_${n}`, { order: `ord_${n % ORDERS}`, createdAt: n }), later()),
    ),
  );
  const database = new Database(file);
  database.exec('CREATE TABLE effects (seq INTEGER PRIMARY KEY, event TEXT NOT NULL) STRICT');
  database.close();
  return file;
}

const handledBefore = (round: number): number => round % 9;

async function killAgainAndAgain(file: string, kills: number, look: (about: string) => void): Promise<number[]> {
  const running: number[] = [];
  for (let round = 1; round <= kills; round += 1) {
    const child = await startHandling(file, 'effects');
    await child.handled(handledBefore(round));
    const afterMs = Math.random() * 10;
    await sleep(afterMs);
    child.kill();
    const end = await child.ended;
    expect(end.signal, `round ${round} ended by itself`).toBe('SIGKILL');
    running.push(end.running.length);
    look(`kill ${round}, ${Math.round(afterMs)} ms after ${handledBefore(round)} handlers had ended`);
  }
  return running;
}

it.each([
  ['one process', 1],
  ['each of two processes on one file', 2],
])(
  `what handlers write through ctx.transaction happens exactly once, although %s is killed again and again, ${KILLS} times in all`,
  async (_, processes) => {
    const file = await fileWithEvents();
    const database = new Database(file);
    onTestFinished(() => void database.close());
    const repeated = database.prepare(
      'SELECT event, count(*) AS times FROM effects GROUP BY event HAVING count(*) > 1',
    );
    const unmarked = database.prepare(`
      SELECT event FROM effects WHERE event NOT IN (SELECT id FROM hookbox_events WHERE state = 'processed')
      UNION ALL
      SELECT id FROM hookbox_events WHERE state = 'processed' AND id NOT IN (SELECT event FROM effects)
    `);
    const look = (about: string): void => {
      expect(repeated.all(), about).toEqual([]);
      expect(unmarked.all(), about).toEqual([]);
    };

    const loops = Array.from({ length: processes }, () => killAgainAndAgain(file, KILLS / processes, look));
    const running = (await Promise.all(loops)).flat();

    // Otherwise the test proves nothing: most kills must hit running handlers.
    expect(running).toHaveLength(KILLS);
    expect(running.filter((handlers) => handlers > 0).length).toBeGreaterThan(KILLS * 0.6);
    const crashed = database.prepare("SELECT count(*) FROM hookbox_attempts WHERE outcome = 'crashed'").pluck();
    expect(crashed.get()).toBeGreaterThan(KILLS / 2);
    const done = database.prepare("SELECT count(*) FROM hookbox_events WHERE state = 'processed'").pluck();
    expect(done.get()).toBeGreaterThan(KILLS * 3);
    expect(done.get()).toBeLessThan(EVENTS);

    await using inbox = sqliteInbox(file);
    let reruns = 0;
    const last = await startHandling(file, 'effects');
    const left = database.prepare("SELECT count(*) FROM hookbox_events WHERE state != 'processed'").pluck();
    const dead = database
      .prepare("SELECT id FROM hookbox_events WHERE state = 'dead' AND dead_reason = 'crashed'")
      .pluck();
    while (left.get() !== 0) {
      for (const id of dead.all()) {
        const key = { endpoint: 'default', id: String(id) };
        const event = await inbox.get(key);
        if (event === null) throw new Error(`${key.id} is gone`);
        expect(await inbox.rerun(key, event, Date.now())).toBe(true);
        reruns += 1;
      }
      await sleep(50);
    }
    last.kill();
    await last.ended;
    expect(reruns).toBeLessThan(KILLS);

    look('at the end');
    expect(database.prepare('SELECT count(*) FROM effects').pluck().get()).toBe(EVENTS);
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    console.info(
      `${processes} process(es): ${running.filter((n) => n > 0).length} of ${KILLS} kills hit running handlers, ` +
        `${String(crashed.get())} crashed attempts, ${reruns} reruns`,
    );
  },
  120_000,
);
