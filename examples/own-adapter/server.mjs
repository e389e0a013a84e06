import { createServer } from 'node:http2';
import { createReceiver } from 'hookbox';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });

/** Reads the raw bytes into `buffer`, which knows the limits, and not longer than until `late`. */
function readerOf(stream) {
  return ({ buffer, late }) =>
    new Promise((resolve) => {
      stream.on('data', (chunk) => {
        const ended = buffer.add(chunk);
        if (ended !== null) resolve({ ended });
      });
      stream.on('end', () => resolve({ ended: 'complete', bytes: buffer.bytes() }));
      stream.on('close', () => resolve({ ended: 'aborted' }));
      late.then((ended) => resolve({ ended }));
    });
}

const server = createServer();
server.on('stream', async (stream, request) => {
  stream.on('error', () => {}); // the client may go away at any time
  const outcome = await receiver.receive({
    method: request[':method'],
    signature: request['x-signature'],
    contentEncoding: request['content-encoding'],
    body: readerOf(stream),
  });
  if (stream.destroyed) return;
  const { Connection, ...headers } = outcome.headers; // HTTP/2 has no such header
  stream.respond({ ':status': outcome.status, 'content-type': 'application/json', ...headers });
  stream.end(JSON.stringify(outcome.body), () => stream.close()); // nobody reads what may still come
});
server.listen(process.env.PORT ?? 3000);
