import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { clearTimeout, setTimeout } from '../src/host/real-timers.ts';
import type { BodyRead, BodyReader } from '../src/index.ts';
import { discardScale, isUnread, LINGER_MS, type Unread } from './rejected-body.ts';

/**
 * Reads the body from the events of a Node request, counting while it arrives. Fastest of all ways to read one, and the
 * only one that stops at the limit without buffering (docs/benchmarks.md).
 *
 * @param fix - what the application has to change where the body was read before
 */
export function nodeBodyReader(incoming: IncomingMessage, fix?: string): BodyReader {
  return ({ buffer, late }) =>
    new Promise<BodyRead>((resolve) => {
      if (incoming.readableDidRead || incoming.readableEnded || incoming.readableEncoding !== null) {
        return resolve({ ended: 'consumed', ...(fix !== undefined && { fix }) });
      }
      let settled = false;

      incoming.on('data', onData);
      incoming.on('end', onEnd);
      incoming.on('pause', goOn); // a pipe that nobody empties pauses what it reads from
      incoming.on('error', onAborted);
      incoming.on('close', onAborted);
      void late.then(stop);
      const over = buffer.expect(Number(incoming.headers['content-length'] ?? 0));
      if (over !== null) stop(over);
      else if (incoming.destroyed) onAborted();
      else goOn(); // somebody may have paused it

      function goOn(): void {
        incoming.resume();
      }
      function onData(chunk: Buffer | string): void {
        // Somebody has called setEncoding meanwhile: the bytes are gone.
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

/**
 * Node reads what is left of a body that was not read to its end, for as long as it comes. This lets a client that is nearly done
 * keep its connection, and cuts off the others.
 */
export function boundRest(incoming: IncomingMessage): void {
  if (incoming.complete || incoming.readableEnded || incoming.httpVersionMajor > 1) return;
  const cut = (): void => void incoming.destroy();
  const timer = setTimeout(cut, LINGER_MS).unref();
  incoming.on('error', () => {});
  throwAway(incoming, cut);
  incoming.resume(); // somebody may have paused it
  const { socket } = incoming;
  endAfterBody(incoming);
  const over = (): void => {
    clearTimeout(timer);
    Reflect.deleteProperty(socket, 'destroySoon'); // the next request has an end of its own
  };
  incoming.once('close', over);
  incoming.once('end', over);
}

/** Another way to read the body of a Node request, with the same care for whoever is refused. */
export function lingering(incoming: IncomingMessage, reader: BodyReader): BodyReader {
  return async (limits) => {
    const read = await reader(limits);
    if (isUnread(read.ended)) linger(incoming);
    return read;
  };
}

/**
 * Lets the answer out before the connection ends. Closing a socket with unread bytes resets it, and a client that is
 * still writing would lose the answer; so some of the rest is read and thrown away, and our half is closed first.
 */
function linger(incoming: IncomingMessage): void {
  if (incoming.httpVersionMajor > 1) return; // a stream of its own, whose end does not reset the connection
  incoming.on('error', () => {}); // the client may give up at any time from here on

  throwAway(incoming, endAfterBody(incoming));
  incoming.resume();
}

/** @param cut - called when that was enough */
function throwAway(incoming: IncomingMessage, cut: () => void): void {
  const isEnough = discardScale();
  incoming.on('data', (chunk: Buffer | string) => {
    if (isEnough(chunk.length)) cut();
  });
}

/**
 * Where the connection ends with the answer, as the answer says or as the client has asked, our half of it ends first.
 *
 * @returns ends the rest, too: at once, or as soon as the answer is out
 */
function endAfterBody(incoming: IncomingMessage): () => void {
  const { socket } = incoming;
  let isEnding = false;
  let isCut = false;
  // Node calls destroySoon once the last answer of a connection is written.
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

/** A stream of HTTP/2 stays open until the client has sent everything; once it is answered, nobody reads that. */
export function endStream(incoming: IncomingMessage): void {
  if (incoming.httpVersionMajor === 1 || incoming.complete) return;
  const { stream } = incoming as unknown as Partial<Http2ServerRequest>;
  stream?.once('finish', () => stream.close());
}
