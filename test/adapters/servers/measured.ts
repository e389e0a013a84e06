import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReceiver, type BodyBuffer, type Receiver } from '../../../src/index.ts';
import { memoryInbox } from '../../../src/inbox/memory/memory-inbox.ts';
import { silent } from '../../helpers/silent-logger.ts';
import { SECRET } from '../../helpers/signed-event.ts';

/** For a slow machine. */
const DEADLINE_MS = 30_000;

/** Sends its address, and for each message a sample of its memory. */
export function serveMeasured(serverOf: (receiver: Receiver) => Server): void {
  const seen = { chunksOfOneByte: 0, largerChunks: 0 };
  const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), logger: silent, deadlineMs: DEADLINE_MS });
  const server = serverOf({
    ...receiver,
    receive: ({ body, ...rest }) =>
      receiver.receive({
        ...rest,
        body:
          typeof body === 'function' ? (limits) => body({ ...limits, buffer: counting(limits.buffer, seen) }) : body,
      }),
  });
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.send?.({ url: `http://127.0.0.1:${port}/webhooks` });
  });
  process.on('message', () => process.send?.({ rss: process.memoryUsage.rss(), ...seen }));
  process.on('disconnect', () => process.exit());
}

/** Counts the chunks of a body that begins with a chunk of one byte. */
function counting(buffer: BodyBuffer, seen: { chunksOfOneByte: number; largerChunks: number }): BodyBuffer {
  let isInBytes: boolean | undefined;
  return {
    expect: (bytes) => buffer.expect(bytes),
    bytes: () => buffer.bytes(),
    add(chunk) {
      isInBytes ??= chunk.byteLength === 1;
      if (isInBytes) seen[chunk.byteLength === 1 ? 'chunksOfOneByte' : 'largerChunks'] += 1;
      return buffer.add(chunk);
    },
  };
}
