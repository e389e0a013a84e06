// @module-tag long
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { Child } from '../helpers/child.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const SAME_ID = new URL('same-id-process.ts', import.meta.url);
const kinds = z.array(z.string());
const ROUNDS = 20;

it('64 deliveries of one id to two processes at the same moment are stored once, each time', async () => {
  const file = scratchFile();
  await sqliteInbox(file).close();
  await using one = await Child.bundled(SAME_ID, [file]);
  await using other = await Child.bundled(SAME_ID, [file]);
  expect([await one.line(), await other.line()]).toEqual(['ready', 'ready']);

  const winners: ('one' | 'other')[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = JSON.stringify({ id: `evt_${round}`, at: Date.now() + 30, times: 32 });
    one.say(order);
    other.say(order);
    const answers = {
      one: kinds.parse(JSON.parse(await one.line())),
      other: kinds.parse(JSON.parse(await other.line())),
    };
    const all = [...answers.one, ...answers.other];
    expect(all.filter((kind) => kind === 'stored')).toHaveLength(1);
    expect(all.filter((kind) => kind === 'duplicate')).toHaveLength(63);
    winners.push(answers.one.includes('stored') ? 'one' : 'other');
  }

  const database = new Database(file);
  const rows = database
    .prepare('SELECT id, count(*) AS rows FROM hookbox_events NOT INDEXED GROUP BY id ORDER BY min(seq)')
    .all();
  database.close();
  expect(rows).toEqual(winners.map((_, round) => ({ id: `evt_${round}`, rows: 1 })));

  await using inbox = sqliteInbox(file);
  const stored = await inbox.list();
  expect(stored.map(({ redeliveries, conflict }) => [redeliveries.count, conflict])).toEqual(
    winners.map(() => [63, null]),
  );
  await Promise.all([one.finish(), other.finish()]);
});
