/**
 * A server whose threads cannot have what it has open itself: node denied-process.ts <file> <user|descriptors>. It says what
 * became of two deliveries, and how often a thread was started.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../src/errors.ts';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { incoming } from '../../helpers/incoming-event.ts';
import { recordedLog } from '../../helpers/recorded-log.ts';

const [file = '', how] = process.argv.slice(2);
const threads: string[] = [];
process.on('worker', ({ threadId }) => threads.push(String(threadId)));
const log = recordedLog();
const inbox = sqliteInbox(file, { logger: log.logger });

async function deliver(id: string): Promise<string> {
  return inbox
    .accept(incoming({ id, entity: null }), performance.now() + 8_000)
    .then(({ result }) => result, messageOf);
}

async function said(results: readonly string[]): Promise<void> {
  console.log(JSON.stringify({ results, threads: threads.length, warnings: log.lines.length }));
}

if (how === 'user') {
  process.setgid?.(65_534);
  process.setuid?.(65_534);
  await said([await deliver('evt_1'), await deliver('evt_2')]);
} else {
  await deliver('first');
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync(devNull, 'r'));
  } catch {}
  const looked = await inbox.operations?.search({}, {}).then(() => 'looked', messageOf);
  const meanwhile = await deliver('evt_1');
  for (const descriptor of taken) closeSync(descriptor);
  await said([looked ?? '', meanwhile]);
  for (let n = 0; n < 40 && threads.length < 3; n += 1) {
    await sleep(250);
    await inbox.operations?.search({}, {});
  }
  await said([await deliver('evt_2')]);
}
await inbox.close();
