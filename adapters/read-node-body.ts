import type { IncomingMessage } from 'node:http';
import type { BodyRead, BodyReader } from '../src/index.ts';

/** How long a client may go on sending a body that was refused, so that it sees the answer before the connection ends. */
const LINGER_MS = 2_000;

/**
 * Reads the body from the events of a Node request, counting while it arrives. Fastest of all ways to read one, and the
 * only one that stops at the limit without buffering (docs/benchmarks.md).
 */
export function nodeBodyReader(incoming: IncomingMessage): BodyReader {
  return ({ maxBytes, late }) =>
    new Promise<BodyRead>((resolve) => {
      const chunks: Buffer[] = [];
      let size = 0;
      let settled = false;

      incoming.on('data', onData);
      incoming.on('end', onEnd);
      incoming.on('error', onAborted);
      incoming.on('close', onAborted);
      void late.then(() => stop('too-slow'));
      if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) stop('too-large');
      else if (incoming.destroyed) onAborted();

      function onData(chunk: Buffer): void {
        size += chunk.byteLength;
        if (size > maxBytes) return stop('too-large');
        chunks.push(chunk);
      }
      function onEnd(): void {
        const [first] = chunks;
        settle({
          ended: 'complete',
          bytes: chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks),
        });
      }
      function onAborted(): void {
        settle({ ended: 'aborted' });
      }
      function settle(read: BodyRead): void {
        settled = true;
        incoming.off('data', onData);
        incoming.off('end', onEnd);
        incoming.off('error', onAborted);
        incoming.off('close', onAborted);
        resolve(read);
      }
      function stop(ended: 'too-large' | 'too-slow'): void {
        if (settled) return;
        linger(incoming);
        settle({ ended });
      }
    });
}

/**
 * Lets the answer out before the connection ends. Closing a socket with unread bytes resets it, and a client that is
 * still writing would lose the answer; so the rest is read and thrown away for a moment, with our half closed.
 */
function linger(incoming: IncomingMessage): void {
  incoming.on('error', () => {}); // the client may give up at any time from here on
  incoming.resume();
  if (incoming.httpVersionMajor > 1) return; // a stream of its own, whose end does not reset the connection
  const { socket } = incoming;
  // Node calls destroySoon once an answer with `Connection: close` is written.
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    incoming.once('end', () => socket.destroy());
  };
}
