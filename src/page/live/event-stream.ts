import { hostServer, type HostServer } from './host-server.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../../host/real-timers.ts';

/** Looks whether something has changed, for as long as there are listeners. */
export interface Changes<Standing extends object> {
  /** Calls back with how things stand now, and then whenever that has changed. Returns how to stop. */
  listen(listener: (standing: Standing) => void): () => void;
}

/** Streams that one process keeps open at a time; a browser asks again later. */
const MAX_STREAMS = 200;
/** Looks so often whether the host still listens: a server that closes waits for the answers that it has under way. */
const HOST_MS = 500;
/** So that a stream that has died is noticed, and proxies do not take it for one. */
const HEARTBEAT_MS = 15_000;
/** Then the browser connects afresh, and whether the visitor may still look is asked again. */
const LONGEST_MS = 10 * 60_000;

export interface LiveOptions {
  readonly heartbeatMs?: number;
  readonly longestMs?: number;
  readonly maxStreams?: number;
  /** then all of them end, and there are no more */
  readonly until?: AbortSignal;
}

/**
 * Answers with a stream of server-sent events: `changed` with a small JSON, at once and whenever something has changed. It ends
 * when the server of its request closes, which would wait for it otherwise.
 */
export function liveStreams<Standing extends object>(
  changes: Changes<Standing>,
  { heartbeatMs = HEARTBEAT_MS, longestMs = LONGEST_MS, maxStreams = MAX_STREAMS, until }: LiveOptions = {},
): (request: Request, env?: unknown) => Response {
  const open = new Set<() => void>();
  until?.addEventListener('abort', () => open.forEach((end) => end()), { once: true });

  function streamTo(request: Request, server: HostServer): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    let end = (): void => {};
    /** for a client that reads slowly: the newest replaces what it has not taken yet */
    let waiting: string | null = null;
    return new ReadableStream<Uint8Array>(
      {
        start(controller) {
          const send = (text: string): void => {
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text));
            else waiting = text;
          };
          send('retry: 3000\n\n');
          const stop = changes.listen((standing) => send(changed(standing)));
          const heartbeat = setInterval(() => waiting ?? send(': still here\n\n'), heartbeatMs).unref();
          const longest = setTimeout(() => end(), longestMs).unref();
          const host = setInterval(() => server.hasClosed() && end(), HOST_MS).unref();
          end = () => {
            if (!open.delete(end)) return;
            stop();
            clearInterval(heartbeat);
            clearTimeout(longest);
            clearInterval(host);
            try {
              controller.close();
            } catch {
              // The client has closed it.
            }
          };
          open.add(end);
          request.signal.addEventListener('abort', () => end(), { once: true });
          if (request.signal.aborted) end();
        },
        pull(controller) {
          if (waiting === null) return;
          controller.enqueue(encoder.encode(waiting));
          waiting = null;
        },
        cancel: () => end(),
      },
      { highWaterMark: 4 },
    );
  }

  return (request, env) => {
    if (until?.aborted === true) return new Response('The server is closing.', { status: 503 });
    if (open.size >= maxStreams) {
      return new Response('Too many pages are open.', { status: 503, headers: { 'Retry-After': '30' } });
    }
    // Hono answers HEAD with what GET would do; that stream would never be read.
    const server = hostServer(env);
    const body = request.method === 'HEAD' ? null : streamTo(request, server);
    return new Response(body, {
      headers: {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'X-Accel-Buffering': 'no',
        // A server that closes would wait for an idle connection, in Fastify for 72 s.
        ...(server.isHttp1 && { Connection: 'close' }),
      },
    });
  };
}

function changed(standing: object): string {
  return `event: changed\ndata: ${JSON.stringify(standing)}\n\n`;
}
