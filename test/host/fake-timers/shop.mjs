import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReceiver, signBody } from '../../../dist/src/index.js';
import { memoryInbox } from '../../../dist/src/inbox/memory/memory-inbox.js';
import { sqliteInbox } from '../../../dist/src/inbox/sqlite/sqlite-inbox.js';
import { rerunEvents, stats } from '../../../dist/src/ops/index.js';

const secret = 'a signing secret';

/** Ways to open an inbox, by what a test is called. */
export const inboxes = {
  'in memory': () => memoryInbox(),
  'in a file': (file) => sqliteInbox(file),
  'in a file, without threads': (file) => sqliteInbox(file, { thread: false }),
};

/** What a merchant's test does while timers are fake and clocks stand still: nothing of it may wait for these. */
export async function useWhileTimeStands(open) {
  const folder = mkdtempSync(join(tmpdir(), 'hookbox-fake-timers-'));
  const inbox = open(join(folder, 'inbox.db'));
  const { promise: handled, resolve } = Promise.withResolvers();
  const receiver = createReceiver({
    secret: async () => secret,
    inbox,
    logger: false,
    handlers: {
      async 'order.created'({ id }, ctx) {
        if (inbox.file !== undefined) await ctx.transaction((database) => database.prepare('SELECT 1').get());
        resolve(id);
      },
      'order.failed': () => {
        throw Object.assign(new Error('for good'), { name: 'PermanentError', code: 'PERMANENT' });
      },
    },
  });
  await receiver.start();
  const deliver = async (id, type) => {
    const body = new TextEncoder().encode(JSON.stringify({ id, type, created: '2026-01-01T00:00:00Z', data: { id } }));
    return (await receiver.receive({ body, signature: signBody(body, secret) })).kind;
  };
  assert.deepEqual(await Promise.all([deliver('evt_1', 'order.created'), deliver('evt_2', 'order.failed')]), [
    'stored',
    'stored',
  ]);
  assert.equal(await deliver('evt_1', 'order.created'), 'duplicate');
  assert.equal(await handled, 'evt_1');
  await receiver.close();
  if (inbox.operations !== undefined) {
    await stats(inbox);
    const { counts } = await rerunEvents(inbox, [{ endpoint: 'default', id: 'evt_2' }], { actor: 'ada' });
    assert.equal(counts.done, 1);
  }
  assert.equal((await inbox.list()).length, 2);
  await inbox.close();
  rmSync(folder, { recursive: true });
}
