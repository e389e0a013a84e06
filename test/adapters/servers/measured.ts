import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReceiver, type Receiver } from '../../../src/index.ts';
import { memoryInbox } from '../../../src/inbox/memory/memory-inbox.ts';
import { silent } from '../../helpers/silent-logger.ts';
import { SECRET } from '../../helpers/signed-event.ts';

/** Long enough for a slow machine to send what is to be refused. */
const DEADLINE_MS = 30_000;

/**
 * Serves a receiver with the default limits of memory for `startMeasured`: says where, and how much of it is resident
 * whenever it is asked.
 */
export function serveMeasured(serverOf: (receiver: Receiver) => Server): void {
  const server = serverOf(
    createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: silent, deadlineMs: DEADLINE_MS }),
  );
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.send?.({ url: `http://127.0.0.1:${port}/webhooks` });
  });
  process.on('message', () => process.send?.({ rss: process.memoryUsage.rss() }));
  process.on('disconnect', () => process.exit());
}
