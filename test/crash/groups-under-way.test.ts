// @module-tag long
// @module-tag repeated
// @module-tag dear
import Database from 'better-sqlite3';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { bundledScript } from '../helpers/bundled-script.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { orderBody } from '../helpers/order-delivery.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { times } from '../helpers/times.ts';

const ROUNDS = times(10, 2);

it.each([
  ['process.exit()', 'exit', { status: 7, signal: null }],
  ['SIGKILL', 'kill', { status: null, signal: 'SIGKILL' }],
])(
  `what was answered 200 is in the file after %s with one group being written and one behind it, ${ROUNDS} times`,
  async (_, how, end) => {
    const file = scratchFile();
    const script = await bundledScript(new URL('groups-under-way-process.ts', import.meta.url));
    const acknowledged: string[] = [];
    let lost = 0;
    // If both groups were always on the disk, the test proves nothing.
    for (let round = 0; round < ROUNDS || lost === 0; round += 1) {
      const said = `${file}.said`;
      const output = openSync(said, 'w');
      const child = spawnSync(process.execPath, [script, file, String(round), how], {
        stdio: ['ignore', output, 'pipe'],
      });
      closeSync(output);
      expect(child, String(child.stderr)).toMatchObject(end);
      const lines = readFileSync(said, 'utf8').trimEnd().split('\n');
      expect(lines.pop()).toBe('groups 2');
      const idsOf = (kind: string) =>
        lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.split(' ')[1] ?? '');
      acknowledged.push(...idsOf('acknowledged'));
      const unanswered = idsOf('unanswered');
      expect(unanswered.length).toBeGreaterThan(1);
      expect(idsOf('acknowledged').length + unanswered.length).toBe(lines.length);

      const database = new Database(file);
      expect(database.pragma('quick_check', { simple: true }), `round ${round}`).toBe('ok');
      const rows = database.prepare('SELECT id, body FROM hookbox_events').all() as { id: string; body: Buffer }[];
      database.close();
      const bodies = new Map(rows.map(({ id, body }) => [id, body.toString()]));
      expect(bodies.size, `round ${round}: an id is there twice`).toBe(rows.length);
      expect(acknowledged.filter((id) => bodies.get(id) !== orderBody(id))).toEqual([]);
      lost += unanswered.filter((id) => !bodies.has(id)).length;
    }
    expect(acknowledged.length).toBeGreaterThan(ROUNDS * 20);
    await using inbox = sqliteInbox(file);
    expect(await inbox.accept(incoming(), later())).toMatchObject({ result: 'stored' });
    console.info(`${acknowledged.length} acknowledged, ${lost} lost that were not`);
  },
  120_000,
);
