// @module-tag postgres
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inboxOnPostgres } from '../../src/inbox/postgres/inbox-on-postgres.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { SETTINGS } from '../helpers/postgres.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { onPostgres } from './on-postgres.ts';
import { runHookbox, type Ran } from './run-hookbox.ts';
import { stock, stockedInbox } from './stocked-inbox.ts';

const there = onPostgres();

/** What a verb answers about an inbox in a file, and about one in Postgres that the same was done with. */
async function answers(folder: string, args: readonly string[]): Promise<readonly [Ran, Ran]> {
  const ran = await Promise.all([runHookbox(args, { cwd: folder }), there.hookbox(args)]);
  return [comparable(ran[0], 'hookbox.db'), comparable(ran[1], there.shown)];
}

async function bothStocked(): Promise<string> {
  const folder = scratchFolder();
  await stockedInbox(join(folder, 'hookbox.db'));
  // By the clock of the test, as the file is: what it does at one time takes no time. What is given to work on in a transaction
  // is of no matter here.
  await using inbox = inboxOnPostgres(there.url, { ...SETTINGS, schema: there.schema }) as unknown as Inbox;
  await stock(inbox);
  return folder;
}

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g;

/** How long ago, of less than ten minutes: the two processes look at their clocks some milliseconds apart, as {@link roughly} says of times. */
const AGE = /(?<![\d.])(?:\d{1,2} s|\d min) ago/g;

/** Said after an erasure; a file has a log of its own, which is emptied. */
const KEPT = /^Postgres keeps the erased data .*\n/m;

/**
 * Without what is each engine's own: its name, its log, and numbers of events, which in Postgres have gaps. Times go by the clock of the
 * server there, which is known to a millisecond, so only what is apart by more would be told: `roughly` sees to them.
 */
function comparable({ code, stdout, stderr }: Ran, name: string): Ran {
  const plain = (text: string): string =>
    text
      .replaceAll(name, 'the inbox')
      .replaceAll(` --schema ${there.schema}`, '')
      .replace(KEPT, '')
      .replace(/"logEmptied": (?:true|null)/, '"logEmptied": "in its way"')
      .replaceAll(/"(seq|ranMs)":(\s*)\d+/g, '"$1":$2 0')
      .replaceAll(/--before \d+/g, '--before 0')
      .replaceAll(TIME, roughly)
      .replaceAll(AGE, 'now');
  return { code, stdout: plain(stdout), stderr: plain(stderr) };
}

/** To the minute, so that a millisecond makes no difference where the events' own times begin with one. */
function roughly(time: string): string {
  const minute = 60_000;
  const at = new Date(Math.round((Date.parse(time) + 1_000) / minute) * minute);
  return Math.abs(at.getTime() - Date.now()) < 10 * minute ? 'now' : at.toISOString();
}

const LOOKING: readonly (readonly string[])[] = [
  ['events', 'list'],
  ['events', 'list', '--json'],
  ['events', 'list', '--state', 'dead', '--error', 'SHOP is', '--until', '2026-01-02', '--json'],
  ['events', 'list', '--entity', 'ord_42', '--json'],
  ['events', 'list', '--body', 'data.total=12.5', '--json'],
  ['events', 'list', '--limit', '4'],
  ['events', 'list', '--type', 'order.craeted'],
  ['events', 'list', '--groups'],
  ['events', 'list', '--groups', '--json'],
  ['events', 'show', 'evt_dead_1'],
  ['events', 'show', 'evt_hostile', '--json'],
  ['events', 'show', 'evt_exact', '--json'],
  ['events', 'show', 'evt_exact', '--raw'],
  ['events', 'show', 'evt_pruned'],
  ['events', 'show', 'evt_nobody'],
  ['events', 'tail', '-n', '3', '--json'],
  ['events', 'stats', '--since', '2025-12-31', '--steps', '3', '--json'],
  ['events', 'stats', '--since', '2025-12-31'],
  ['events', 'rejected'],
  ['events', 'audit'],
  ['events', 'bulks'],
  ['events', 'rerun', 'evt_dead_1', 'evt_done', '--dry-run', '--json'],
  ['events', 'rerun', '--state', 'dead', '--dry-run', '--json'],
  ['events', 'discard', '--all', '--dry-run', '--json'],
  ['replay', '--all', '--dry-run', '--json'],
  ['replay', '--state', 'dead', '--since', '2025-12-31', '--dry-run', '--json'],
  ['fixtures', 'capture', 'evt_exact'],
  ['fixtures', 'capture', 'evt_nobody'],
];

it('every verb that looks says of an inbox in Postgres what it says of one in a file', async () => {
  const folder = await bothStocked();
  for (const args of LOOKING) {
    const [onFile, onServer] = await answers(folder, args);
    expect(onFile.stdout + onFile.stderr, args.join(' ')).not.toBe('');
    expect.soft(onServer, args.join(' ')).toEqual(onFile);
  }
});

const BY = ['--actor', 'ada', '--reason', 'because', '--json'];

/** In their order; each is followed by a look at what it has left behind. */
const ACTING: readonly (readonly string[])[] = [
  ['events', 'rerun', 'evt_dead_1', 'evt_nobody', ...BY],
  ['events', 'rerun', 'evt_done', ...BY],
  ['events', 'rerun', 'evt_done', '--force', ...BY],
  ['events', 'discard', 'evt_…ad_1', '…ying', ...BY],
  ['events', 'rerun', '--state', 'dead', '--yes', ...BY],
  ['events', 'rerun', '--resume', '1', ...BY],
  ['events', 'discard', '--cancel', '7', ...BY],
  ['events', 'discard', '--type', 'order.ready', '--yes', ...BY],
  ['events', 'prune', '--older-than', '2026-02-01', '--state', 'ignored', '--dry-run', ...BY],
  ['events', 'prune', '--older-than', '0s', '--state', 'ignored', '--yes', ...BY],
  ['events', 'erase', 'ord_43', '--dry-run', ...BY],
  ['events', 'erase', 'ord_43', '--yes', ...BY],
  ['events', 'erase', 'ord_43', '--yes', ...BY],
];
const AFTER: readonly (readonly string[])[] = [
  ['events', 'list', '--json'],
  ['events', 'bulks', '--json'],
  ['events', 'audit', '--json'],
];

it('every verb that acts does to an inbox in Postgres what it does to one in a file', async () => {
  const folder = await bothStocked();
  for (const args of ACTING) {
    const [onFile, onServer] = await answers(folder, args);
    expect.soft(onServer, args.join(' ')).toEqual(onFile);
    for (const look of AFTER) {
      const [file, server] = await answers(folder, look);
      expect.soft(server, `${args.join(' ')}: ${look.join(' ')}`).toEqual(file);
    }
  }
});

it('an inbox moves from a file into Postgres and back, with its bytes, ids, states and attempts', async () => {
  const folder = scratchFolder();
  await stockedInbox(join(folder, 'hookbox.db'));
  const first = await runHookbox(['events', 'export'], { cwd: folder });
  writeFileSync(join(there.cwd, 'export.ndjson'), first.stdout);

  const moved = await there.hookbox(['events', 'import', 'export.ndjson', '--trusted', '--json']);
  expect(moved).toMatchObject({ code: 0, stderr: expect.stringContaining(`note: ${there.shown} is a new inbox.\n`) });
  expect(JSON.parse(moved.stdout)).toMatchObject({ imported: 10, known: 0, different: 0 });
  const again = await there.hookbox(['events', 'import', 'export.ndjson', '--trusted', '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ imported: 0, known: 10, different: 0 });
  expect(again.stderr).not.toContain('is a new inbox');

  const back = await there.hookbox(['events', 'export']);
  expect(exportedEvents(back)).toEqual(exportedEvents(first));
  writeFileSync(join(folder, 'back.ndjson'), back.stdout);
  const home = await runHookbox(['events', 'import', 'back.ndjson', '--json'], { cwd: folder });
  expect(JSON.parse(home.stdout)).toMatchObject({ imported: 0, known: 10, different: 0 });
});

/** Times are carried over by clocks that are known to a millisecond. */
function exportedEvents({ stdout }: Ran): readonly unknown[] {
  const near = (key: string, value: unknown): unknown =>
    key.endsWith('Ms') && typeof value === 'number' ? Math.round(value / 1_000) : value;
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line, near) as unknown);
}
