import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { EVERYTHING } from '../../../src/inbox/work.ts';
import { incoming, later } from '../../helpers/incoming-event.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { seenThreads } from './seen-threads.ts';

const MIB = 1024 * 1024;
/** What the log keeps on the disk, and one transaction on top of that. */
const MOST = (64 + 12) * MIB;
const EVENTS = 100;

function logOf(file: string): number {
  return statSync(`${file}-wal`).size;
}

/** A file of much more than the log may have. */
async function filled(): Promise<string> {
  const file = scratchFile();
  await using inbox = sqliteInbox(file, { thread: false });
  for (let n = 0; n < EVENTS; n += 1) {
    await inbox.accept(incoming({ id: `evt_${n}`, entity: null, body: `{"n":"${'x'.repeat(MIB)}"}` }), later());
  }
  return file;
}

it.each<[string, readonly string[], boolean, boolean]>([
  ['in their own thread, without a writer', ['operators-thread'], false, false],
  ['in their own thread, beside a writer that has nothing to do', ['writer-thread', 'operators-thread', 'checkpoint-thread'], true, false],
  // A rule of the merchant's own is asked where it was given.
  ['on the event loop, without a writer', [], false, true],
  ['on the event loop, beside a writer that has nothing to do', ['writer-thread', 'checkpoint-thread'], true, true],
])('operators who act on much, %s, keep the log short', async (_, expected, writer, own) => {
  const file = await filled();
  const threads = seenThreads();
  await using inbox = sqliteInbox(file);
  if (writer) await inbox.accept(incoming({ id: 'one more' }), later());
  const options = own ? { entity: () => null } : {};
  for (let n = 0; n < EVENTS; n += 1) {
    await inbox.operations?.act('discard', [{ endpoint: 'default', id: `evt_${n}` }], { actor: 'ada' }, options);
  }
  expect(threads.map(({ entry }) => entry)).toEqual(expected);
  expect((await inbox.list({ limit: 200 })).filter(({ state }) => state === 'ignored')).toHaveLength(EVENTS);
  expect(logOf(file)).toBeLessThan(MOST);
});

it('so does ctx.transaction, beside a writer that has nothing to do', async () => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  for (let n = 0; n < 14; n += 1) await inbox.accept(incoming({ id: `evt_${n}`, entity: null }), later());
  const claimed = await inbox.claim({ ...EVERYTHING, now: Date.now(), leaseMs: 60_000, ordered: false }, 14);
  for (const { lease } of claimed) {
    await inbox.transaction(
      lease,
      (database) => {
        database.exec('CREATE TABLE IF NOT EXISTS own (bytes BLOB)');
        database.prepare('INSERT INTO own VALUES (zeroblob(?))').run(10 * MIB);
      },
      { now: () => Date.now(), signal: new AbortController().signal },
    );
  }
  expect(claimed).toHaveLength(14);
  expect(logOf(file)).toBeLessThan(MOST);
});
