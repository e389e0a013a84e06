// @module-tag long
import Database from 'better-sqlite3';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { getBulk, previewBulk } from '../../src/ops/bulks.ts';
import { auditLines } from '../../src/ops/audit.ts';
import { bundledScript } from '../helpers/bundled-script.ts';
import { Child } from '../helpers/child.ts';
import { later } from '../helpers/incoming-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { plantDead } from '../ops/events-in-states.ts';
import { orderEvent, orderEvents } from '../helpers/order-event.ts';

const EVENTS = 10_000;
const KILLS = 4;
/** At most a hundred events, so that four killed runs leave some for the last one. */
const BATCHES = 20;

it(`a bulk rerun of ${EVENTS} dead events that is killed ${KILLS} times and resumed reruns each once, while deliveries are answered`, async () => {
  const file = scratchFile();
  const run = pathToFileURL(await bundledScript(new URL('bulk-process.ts', import.meta.url)));
  await using inbox = sqliteInbox(file);
  const database = new Database(file);
  onTestFinished(() => void database.close());
  plantDead(database, ...orderEvents(EVENTS, (n) => ({ order: `ord_${n % 500}` })));
  database.exec(`
    CREATE TABLE moves (seq INTEGER NOT NULL) STRICT;
    CREATE TRIGGER log_moves AFTER UPDATE OF state ON hookbox_events WHEN old.state = 'dead' AND new.state = 'pending'
    BEGIN INSERT INTO moves VALUES (new.seq); END;
  `);
  const { id, total } = await previewBulk(inbox, 'rerun', { states: ['dead'] }, { actor: 'ada' });
  expect(total).toBe(EVENTS);

  const progress = async (about: string): Promise<number> => {
    const moved = database.prepare('SELECT count(*) AS moves, count(DISTINCT seq) AS events FROM moves').get();
    const { events } = moved as { events: number };
    const results = database.prepare('SELECT count(*) FROM hookbox_bulk_events WHERE result IS NOT NULL').pluck().get();
    const { lines } = await auditLines(inbox);
    const run = lines.find(({ act }) => act === 'rerun');
    expect({ moved, results, run: run?.counts }, about).toEqual({
      moved: { moves: events, events },
      results: events,
      run: { done: events },
    });
    expect(await getBulk(inbox, id), about).toMatchObject({ worked: events, counts: { done: events } });
    return events;
  };

  await using deliveries = deliver(inbox);

  const reached: number[] = [];
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await using child = new Child(run, [file, String(id), String(BATCHES)]);
    for (let batches = 1 + Math.random() * (BATCHES - 5); batches > 0; batches -= 1) await child.line();
    const afterMs = Math.random() * 10;
    await sleep(afterMs);
    await child[Symbol.asyncDispose](); // by SIGKILL
    reached.push(await progress(`kill ${kill}, ${afterMs} ms after a batch`));
    // As if the handlers of all rerun events had failed again: a bulk that visits one twice would rerun it twice.
    database.exec(`
      UPDATE hookbox_events SET state = 'dead', dead_reason = 'failed', settled_ms = 1, trigger = 'auto', parked = 0
      WHERE state = 'pending' AND type = 'order.created'
    `);
  }
  await using last = new Child(run, [file, String(id)]);
  let line = await last.line();
  while (/^\d+$/.test(line)) line = await last.line();
  await last.finish();
  const accepted = await deliveries.stop();

  expect(line).toBe('done');
  expect(await progress('at the end')).toBe(EVENTS);
  const bulk = await getBulk(inbox, id);
  expect(bulk).toMatchObject({ state: 'done', counts: { done: EVENTS } });
  expect(reached.at(0)).toBeGreaterThan(0);
  expect(reached.at(-1)).toBeLessThan(EVENTS);
  const { lines } = await auditLines(inbox);
  const left = lines.filter(({ act }) => act === 'resume').map(({ counts }) => counts['left']);
  expect(left.toReversed()).toEqual(reached.map((worked) => EVENTS - worked));
  expect(lines).toHaveLength(1 + KILLS);

  const pending = "SELECT count(*) FROM hookbox_events WHERE state = 'pending' AND trigger = 'manual'";
  expect(database.prepare(pending).pluck().get()).toBe(EVENTS - (reached.at(-1) ?? 0));
  const stored = "SELECT count(*) FROM hookbox_events WHERE type = 'order.ready'";
  expect(database.prepare(stored).pluck().get()).toBe(accepted);
  expect(accepted).toBeGreaterThan(50);
  expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
  console.info(`killed after ${reached.join(', ')} of ${EVENTS}; ${accepted} deliveries meanwhile`);
});

function deliver(inbox: Inbox): AsyncDisposable & { stop(): Promise<number> } {
  const control = new AbortController();
  const delivering = (async () => {
    let accepted = 0;
    for (; !control.signal.aborted; accepted += 1) {
      const event = orderEvent(`new_${accepted}`, { type: 'order.ready' });
      expect(await inbox.accept(event, later())).toMatchObject({ result: 'stored' });
      await sleep(1);
    }
    return accepted;
  })();
  const stop = (): Promise<number> => {
    control.abort();
    return delivering;
  };
  return { stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}
