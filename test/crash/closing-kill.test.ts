// @module-tag long
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { createProcessor } from '../../src/processing/processor.ts';
import { Child } from '../helpers/child.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const SCRIPT = new URL('closing-process.ts', import.meta.url);
const KEY = { endpoint: 'default', id: 'evt_1' };

it('three stops that kill a process while it closes leave no crash: its event is handled by the next one', async () => {
  const file = scratchFile();
  await using inbox = sqliteInbox(file);
  await store(inbox, orderEvent('evt_1', { receivedAt: Date.now() }));
  const database = new Database(file, { readonly: true });
  onTestFinished(() => void database.close());
  const closing = database.prepare('SELECT closing FROM hookbox_events').pluck();
  for (let stops = 0; stops < 3; stops += 1) {
    await using child = new Child(SCRIPT, [file]);
    expect(await child.line()).toBe('running');
    child.say('close');
    await expect.poll(() => closing.get(), { timeout: 10_000 }).toBe(1);
  }
  const next = createProcessor({ inbox, logger: false, handlers: { '*': () => {} } });
  await next.start();
  const outcomes = async () => (await inbox.attempts(KEY)).map(({ outcome }) => outcome);
  await expect.poll(outcomes, { timeout: 10_000 }).toEqual(['interrupted', 'interrupted', 'interrupted', 'processed']);
  await next.close();
});
