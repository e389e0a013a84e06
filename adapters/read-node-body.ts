import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { clearTimeout, setTimeout } from '../src/host/real-timers.ts';
import type { BodyRead, BodyReader } from '../src/index.ts';
import { discardScale, isUnread, LINGER_MS, type Unread } from './rejected-body.ts';

/** Reads from the events of a Node request. This is the fastest way, and stops at the limit (docs/benchmarks.md). */
export function nodeBodyReader(incoming: IncomingMessage, fix?: string): BodyReader {
  return ({ buffer, late }) =>
    new Promise<BodyRead>((resolve) => {
      if (incoming.readableDidRead || incoming.readableEnded || incoming.readableEncoding !== null) {
        return resolve({ ended: 'consumed', ...(fix !== undefined && { fix }) });
      }
      let settled = false;

      incoming.on('data', onData);
      incoming.on('end', onEnd);
      incoming.on('pause', goOn); // an unread pipe pauses the request
      incoming.on('error', onAborted);
      incoming.on('close', onAborted);
      void late.then(stop);
      const over = buffer.expect(Number(incoming.headers['content-length'] ?? 0));
      if (over !== null) stop(over);
      else if (incoming.destroyed) onAborted();
      else goOn(); // it may be paused

      function goOn(): void {
        incoming.resume();
      }
      function onData(chunk: Buffer | string): void {
        // Other code has called setEncoding, so the bytes are gone.
        if (typeof chunk === 'string') return settle({ ended: 'consumed', ...(fix !== undefined && { fix }) });
        const full = buffer.add(chunk);
        if (full !== null) stop(full);
      }
      function onEnd(): void {
        settle({ ended: 'complete', bytes: buffer.bytes() });
      }
      function onAborted(): void {
        settle({ ended: 'aborted' });
      }
      function settle(read: BodyRead): void {
        settled = true;
        incoming.off('data', onData);
        incoming.off('end', onEnd);
        incoming.off('pause', goOn);
        incoming.off('error', onAborted);
        incoming.off('close', onAborted);
        resolve(read);
      }
      function stop(ended: Unread): void {
        if (settled) return;
        settle({ ended });
        linger(incoming);
      }
    });
}

/** Node reads the rest of an unread body without a limit. This limit lets a client that is nearly done keep its connection. */
export function boundRest(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.readableEnded || incoming.httpVersionMajor > 1) return;
  const cut = (): void => void incoming.destroy();
  const timer = setTimeout(cut, LINGER_MS).unref();
  incoming.on('error', () => {});
  throwAway(incoming, cut);
  incoming.resume(); // it may be paused
  const { socket } = incoming;
  endAfterBody(incoming);
  const over = (): void => {
    clearTimeout(timer);
    Reflect.deleteProperty(socket, 'destroySoon'); // the next request needs the original
  };
  incoming.once('close', over);
  incoming.once('end', over);
}

export function lingering(incoming: IncomingMessage, reader: BodyReader): BodyReader {
  return async (limits) => {
    const read = await reader(limits);
    if (isUnread(read.ended)) linger(incoming);
    return read;
  };
}

/** Closing a socket with unread bytes resets it, and a client that still writes would lose the response. */
function linger(incoming: IncomingMessage): void {
  if (incoming.httpVersionMajor > 1) return; // the end of a stream does not reset the connection
  incoming.on('error', () => {}); // the client may give up

  throwAway(incoming, endAfterBody(incoming));
  incoming.resume();
}

function throwAway(incoming: IncomingMessage, cut: () => void): void {
  const isEnough = discardScale();
  incoming.on('data', (chunk: Buffer | string) => {
    if (isEnough(chunk.length)) cut();
  });
}

/** Ends our half of the connection first, and the rest after the returned function is called and the response sent. */
function endAfterBody(incoming: IncomingMessage): () => void {
  const { socket } = incoming;
  let isEnding = false;
  let isCut = false;
  // Node calls destroySoon after the last response of a connection.
  socket.destroySoon = () => {
    if (isEnding) return;
    isEnding = true;
    socket.end();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
    if (incoming.readableEnded || isCut) socket.destroy();
    else incoming.once('end', () => socket.destroy());
  };
  return () => {
    isCut = true;
    if (isEnding) socket.destroy();
  };
}

/** A stream of HTTP/2 stays open until the client has sent everything. */
export function endStream(incoming: IncomingMessage): void {
  if (incoming.httpVersionMajor === 1 || incoming.complete) return;
  const { stream } = incoming as unknown as Partial<Http2ServerRequest>;
  stream?.once('finish', () => stream.close());
}
