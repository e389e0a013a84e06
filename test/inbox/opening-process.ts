// A process that opens inboxes at agreed moments. Each line of its input is JSON: { file, at, id } with `at` in
// milliseconds since 1970; it opens the file then, stores one event, and says what came of it.
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { incoming, later } from '../helpers/incoming-event.ts';

const order = z.object({ file: z.string(), at: z.number(), id: z.string() });

console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const { file, at, id } = order.parse(JSON.parse(line));
  await sleep(Math.max(0, at - Date.now() - 5));
  while (Date.now() < at); // to the millisecond
  try {
    await using inbox = sqliteInbox(file);
    console.log((await inbox.accept(incoming({ id }), later())).result);
  } catch (failure) {
    console.log(String(failure));
  }
}
