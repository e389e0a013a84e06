// @module-tag long
// @module-tag dear
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { scratchFolder } from '../helpers/scratch-folder.ts';
import { acceptingServer, replayAll } from './replay-peak.ts';

const BODY_BYTES = 16 * 1024;
/** Their bodies are more than the 64 MiB that SQLite may cache, so that both runs fill the cache. */
const FEW = 5_000;
const MANY = 25_000;
const GROWTH_KIB = 128 * 1024;

it('replays many events in the memory that a few take', { timeout: 180_000 }, async () => {
  const cwd = scratchFolder();
  const { url, close } = await acceptingServer();
  onTestFinished(close);
  await fill(join(cwd, 'hookbox.db'), 0, FEW);
  const few = await peakOf(cwd, url, FEW);
  await fill(join(cwd, 'hookbox.db'), FEW, MANY);
  const many = await peakOf(cwd, url, MANY);
  // Held as a whole, the bodies alone would be 312 MiB more.
  expect(many - few).toBeLessThan(GROWTH_KIB);
});

async function fill(file: string, from: number, to: number): Promise<void> {
  await using inbox = sqliteInbox(file);
  const body = Buffer.alloc(BODY_BYTES, ' ');
  for (let at = from; at < to; at += 2_000) {
    const ids = Array.from({ length: Math.min(2_000, to - at) }, (_, n) => at + n);
    await Promise.all(ids.map((n) => inbox.accept(incoming({ id: `evt_${n}`, body, entity: null }), later())));
  }
}

async function peakOf(folder: string, url: string, count: number): Promise<number> {
  const ran = await replayAll(folder, url);
  expect(ran).toMatchObject({ code: 0, stdout: '' });
  expect(ran.stderr).toContain(`${count.toLocaleString('en-US')} sent: ${count.toLocaleString('en-US')} ok, 0 failed`);
  expect(ran.stderr).toContain('\r'); // the bar was drawn again and again
  return ran.peakKiB;
}
