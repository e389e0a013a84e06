// @module-tag long
import Database from 'better-sqlite3';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { later } from '../helpers/incoming-event.ts';
import { orderEvent } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { times } from '../helpers/times.ts';
import { startHandling } from './handling-child.ts';

const KILLS = times(50, 12);
const EVENTS = times(1_500, 400);
/** Of the process: each may die between its act and the mark. */
const HANDLERS = 4;

it(`a step of ctx.once whose result was kept is never run again, although the process is killed ${KILLS} times`, async () => {
  const file = scratchFile();
  {
    await using inbox = sqliteInbox(file);
    await Promise.all(Array.from({ length: EVENTS }, (_, n) => inbox.accept(orderEvent(`evt_${n}`), later())));
  }
  const database = new Database(file);
  onTestFinished(() => void database.close());
  const marks = database.prepare<[], string>(
    "SELECT id || ' ' || name FROM hookbox_steps JOIN hookbox_events USING (seq)",
  );
  const actsOf = (): Map<string, number> => {
    const acts = new Map<string, number>();
    for (const line of readFileSync(`${file}.acts`, 'utf8').split('\n').filter(Boolean)) {
      acts.set(line, (acts.get(line) ?? 0) + 1);
    }
    return acts;
  };
  const marked = new Map<string, number>();
  const look = (about: string): void => {
    const acts = actsOf();
    for (const step of marks.pluck().all()) {
      const count = acts.get(step) ?? 0;
      expect(count, `${about}: ${step} is marked`).toBeGreaterThan(0);
      expect(count, `${about}: ${step}`).toBe(marked.get(step) ?? count);
      marked.set(step, count);
    }
  };

  let hit = 0;
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const child = await startHandling(file, 'steps');
    await child.handled(kill % 9);
    await sleep(Math.random() * 10);
    child.kill();
    const { signal, running } = await child.ended;
    expect(signal).toBe('SIGKILL');
    if (running.length > 0) hit += 1;
    look(`kill ${kill}`);
  }
  expect(hit).toBeGreaterThan(KILLS * 0.6);

  const last = await startHandling(file, 'steps');
  const left = database.prepare("SELECT count(*) FROM hookbox_events WHERE state NOT IN ('processed', 'dead')").pluck();
  while (left.get() !== 0) await sleep(50);
  last.kill();
  await last.ended;
  look('at the end');
  const processed = database
    .prepare<[], string>("SELECT id FROM hookbox_events WHERE state = 'processed'")
    .pluck()
    .all();
  expect(processed.length).toBeGreaterThan(EVENTS - KILLS * HANDLERS);
  const acts = actsOf();
  for (const id of processed)
    for (const step of ['first', 'second']) expect(acts.get(`${id} ${step}`)).toBeGreaterThan(0);
  const repeated = [...acts.values()].reduce((sum, count) => sum + count - 1, 0);
  expect(repeated).toBeLessThanOrEqual(KILLS * HANDLERS);
  console.info(`${hit} of ${KILLS} kills hit running handlers, ${repeated} of ${acts.size} steps were run again`);
}, 120_000);
