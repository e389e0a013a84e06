// @module-tag long
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { ownFolder } from '../helpers/scratch-folder.ts';
import { handled } from '../ops/events-in-states.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { runHookbox } from './run-hookbox.ts';
import { running } from './serving.ts';

/**
 * Colours in a way that hookbox never does, sets the title, clears the screen, turns the reading direction, hides and begins another
 * line.
 */
const EVIL = '\u001b[38;5;9m\u001b]0;owned\u0007\u009b2J\u202e\u2066\u061c\u200b\u{e0041}\r\nINJECTED';
const SEEN = /(?!\n)[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029\u{e0041}]/u;
const OURS = new RegExp(`${String.fromCharCode(27)}\\[\\d{1,2}m`, 'g');

const ID = `evt_${EVIL}`;
let folder: ReturnType<typeof ownFolder>;
const DB = `shop_${EVIL}.db`;

beforeAll(async () => {
  folder = ownFolder();
  const file = join(folder.path, DB);
  await using inbox = sqliteInbox(file);
  const error = { name: `Evil${EVIL}`, message: `why ${EVIL}`, stack: `Evil: x\n    at ${EVIL}` };
  const event = (id: string) => {
    const body = JSON.stringify({ id, type: `type.${EVIL}`, created: '2026-01-01T00:00:00Z', data: { [EVIL]: EVIL } });
    return {
      ...orderEvent(id, { order: `ord_${EVIL}` }),
      entity: `order:mer_7:${EVIL}`,
      type: `type.${EVIL}`,
      body: Buffer.from(body),
    };
  };
  await handled(inbox, { outcome: 'dead', reason: 'failed', error }, event(ID));
  await handled(inbox, { outcome: 'retry', error, dueAt: START }, event(`retry_${EVIL}`));
  const once = event(`twice_${EVIL}`);
  await store(inbox, once, { ...once, body: Buffer.from(`${EVIL} other`) }, { ...event(ID), endpoint: `shop-${EVIL}` });
  await inbox.accept(incoming({ id: `odd_${EVIL}`, body: `no JSON ${EVIL}` }), later());
  await inbox.close();

  const database = new Database(file);
  const evil = JSON.stringify({ [EVIL]: EVIL, error: EVIL, reason: EVIL });
  const counts = JSON.stringify({ [EVIL]: 1, done: 1 });
  database
    .prepare(
      "INSERT INTO hookbox_audit (at_ms, actor, via, act, reason, filter, counts) VALUES (1, ?, 'cli', ?, ?, ?, ?)",
    )
    .run(EVIL, EVIL, EVIL, evil, counts);
  database
    .prepare(
      "INSERT INTO hookbox_bulks (id, act, state, force, filter, actor, reason, created_ms, breakdown, counts) VALUES (7, 'rerun', 'running', 0, ?, ?, ?, 1, ?, ?)",
    )
    .run(evil, EVIL, EVIL, JSON.stringify({ types: { [EVIL]: 1 }, states: { [EVIL]: 1 } }), counts);
  database
    .prepare(
      'INSERT INTO hookbox_rejected (endpoint, reason, bytes, sha256, source, count, first_ms, last_ms) VALUES (?, ?, 1, ?, ?, 1, ?, ?)',
    )
    .run(EVIL, EVIL, EVIL, EVIL, Date.now(), Date.now());
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  for (const what of ['stored', 'rejected', EVIL]) {
    database.prepare('INSERT INTO hookbox_counts VALUES (?, ?, ?, 1)').run(minute, what, EVIL);
  }
  database.prepare('UPDATE hookbox_events SET fingerprint = ? WHERE state = ?').run(EVIL, 'dead');
  database.close();
  mkdirSync(join(folder.path, `out_${EVIL}`));
  writeFileSync(join(folder.path, `body_${EVIL}.json`), '{"id":"evt_1"}');
  writeFileSync(join(folder.path, `scenario_${EVIL}.json`), `{"${EVIL}`);
  writeFileSync(join(folder.path, 'throws.mjs'), `throw new Error(${JSON.stringify(EVIL)});`);
});
afterAll(() => folder[Symbol.dispose]());

function expectHarmless(text: string): void {
  const plain = text.replaceAll(OURS, '');
  expect(plain).not.toMatch(SEEN);
  expect(plain.split('\n').filter((line) => line.startsWith('INJECTED'))).toEqual([]);
}

const db = ['--db', DB];
const NAMED: Readonly<Record<string, string>> = { DB, ID };
/** The arguments of a line: its EVIL, and the names of the inbox and of an event. */
const argumentsOf = (line: string): readonly string[] =>
  line.split(' ').map((arg) => NAMED[arg] ?? arg.replaceAll('EVIL', EVIL));

const READING = [
  'events list --db DB',
  'events list --db DB --groups',
  'events list --db DB --type EVIL --entity EVIL',
  'events show --db DB ID --endpoint default',
  'events show --db DB ID',
  'events show --db DB twice_EVIL',
  'events show --db DB odd_EVIL',
  'events show --db DB none_EVIL',
  'events stats --db DB',
  'events audit --db DB',
  'events bulks --db DB',
  'events rejected --db DB',
  'events tail --db DB',
  'events rerun --db DB --dry-run ID --endpoint default',
  'events rerun --db DB --dry-run --state dead',
  'events rerun --db DB --dry-run --error EVIL',
  'events rerun --db DB --cancel 99',
  'events discard --db DB --dry-run --all',
  'events erase --db DB --dry-run EVIL',
  'events erase --db DB --dry-run order:mer_7:EVIL',
  'events prune --db DB --dry-run --type EVIL',
  'events import --db DB none_EVIL',
  'replay --dry-run --db DB --all',
  'replay --dry-run --db DB --type EVIL',
  'replay --dry-run --db DB none_EVIL',
  'doctor --db DB --port 0',
];

it.each(READING)('%s neither steers the terminal nor begins lines with what is stored', async (line) => {
  const args = argumentsOf(line);
  const isOfJson = !['doctor', 'replay'].includes(args[0] ?? '');
  for (const more of [[], ...(isOfJson ? [['--json']] : [])]) {
    const ran = await runHookbox([...args, ...more], { cwd: folder.path, env: { FORCE_COLOR: '1' } });
    expect(ran.stderr).not.toMatch(/Error:|at file:|unknown option/);
    expect(`${ran.stdout}${ran.stderr}`).not.toBe('');
    expectHarmless(ran.stdout);
    expectHarmless(ran.stderr);
  }
});

const REFUSED = [
  'EVIL',
  'events EVIL',
  'events list --EVIL',
  'events list --db none_EVIL.db',
  'events list --db out_EVIL',
  'events list --state EVIL',
  'events list --body EVIL',
  'events export --db DB --out out_EVIL',
  'events export --db DB --out none_EVIL/x',
  'events backup --db DB none_EVIL/x',
  'fixtures capture --db DB EVIL',
  'fixtures capture --db DB ID --out out_EVIL/none/x',
  'fixtures show EVIL',
  'sign none_EVIL',
  'sign body_EVIL.json --secret-file none_EVIL',
  'verify body_EVIL.json --signature EVIL --explain',
  'verify body_EVIL.json --signature EVIL --explain --also none_EVIL',
  'trigger EVIL',
  'trigger order.created --to EVIL',
  'trigger order.created --override EVIL',
  'check EVIL',
  'scenario EVIL',
  'scenario scenario_EVIL.json',
  'schema EVIL',
  'serve --port 0 throws.mjs',
  'serve --port 0 none_EVIL.mjs',
  'ui --port 0 --db none_EVIL.db',
  'ui --port EVIL',
];

it.each(REFUSED)('a refusal does neither: %s', async (line) => {
  const args = argumentsOf(line);
  const ran = await runHookbox(args, { cwd: folder.path, env: { FORCE_COLOR: '1' } });
  expect(ran.code).not.toBe(0);
  expect(`${ran.stdout}${ran.stderr}`).toMatch(/error:|not valid/);
  expectHarmless(ran.stdout);
  expectHarmless(ran.stderr);
});

it('what is written to a pipe or a file stays as it is', async () => {
  const cwd = folder.path;
  const raw = await runHookbox(['events', 'show', ...db, `odd_${EVIL}`, '--raw'], { cwd });
  expect(raw.stdout).toBe(`no JSON ${EVIL}`);
  const out = `saved ${EVIL}`;
  const saved = await runHookbox(['fixtures', 'capture', ...db, `odd_${EVIL}`, '--out', out], { cwd });
  expect(readFileSync(join(cwd, out), 'utf8')).toBe(`no JSON ${EVIL}`);
  expectHarmless(saved.stderr);
  const exported = await runHookbox(['events', 'export', ...db], { cwd });
  expectHarmless(exported.stdout);
  expect(exported.stdout.split('\n').filter((line) => line !== '' && JSON.parse(line) === null)).toEqual([]);
});

it('a server says where it stores and what it serves on lines of its own', async () => {
  const serving = running(['ui', '--port', '0', ...db], { cwd: folder.path });
  await serving.note('hookbox shows');
  await serving.note('every user of this machine');
  const { stdout, stderr } = await serving.stop('SIGTERM');
  expectHarmless(stdout);
  expectHarmless(stderr);
});
