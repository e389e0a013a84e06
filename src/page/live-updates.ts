import { InboxUnavailableError, isInstance } from '../errors.ts';
import { ownContext } from '../host/own-context.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../host/real-timers.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { Gauge } from '../inbox/rules/counted.ts';
import { operationsOf } from '../ops/operations-of.ts';
import { field, serverIn } from './safety/request-guard.ts';

export interface Changes<Standing extends object> {
  listen(listener: (standing: Standing) => void): () => void;
}

const MAX_STREAMS = 200;
const HOST_MS = 500;
const HEARTBEAT_MS = 15_000;
/** After this, the browser reconnects, and the page checks the visitor again. */
const LONGEST_MS = 10 * 60_000;

interface LiveOptions {
  readonly heartbeatMs?: number;
  readonly longestMs?: number;
  readonly maxStreams?: number;
  readonly until?: AbortSignal;
}

/** Answers with server-sent events. A stream ends when its server closes, because the server would wait for it. */
export function liveStreams<Standing extends object>(
  changes: Changes<Standing>,
  { heartbeatMs = HEARTBEAT_MS, longestMs = LONGEST_MS, maxStreams = MAX_STREAMS, until }: LiveOptions = {},
): (request: Request, env?: unknown) => Response {
  const open = new Set<() => void>();
  until?.addEventListener('abort', () => open.forEach((end) => end()), { once: true });

  function streamTo({ signal }: Request, hasClosed: () => boolean): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    let end = (): void => {};
    /** for a client that reads slowly: the newest text replaces an older one */
    let waiting: string | null = null;
    return new ReadableStream<Uint8Array>(
      {
        start(controller) {
          const send = (text: string): void => {
            if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text));
            else waiting = text;
          };
          send('retry: 3000\n\n');
          const stop = changes.listen((standing) => send(`event: changed\ndata: ${JSON.stringify(standing)}\n\n`));
          const timers = [
            setInterval(() => waiting ?? send(': still here\n\n'), heartbeatMs),
            setInterval(() => hasClosed() && end(), HOST_MS),
            setTimeout(() => end(), longestMs),
          ].map((timer) => timer.unref());
          end = () => {
            if (!open.delete(end)) return;
            stop();
            for (const timer of timers) clearTimeout(timer);
            try {
              controller.close();
            } catch {
              // The client has closed it.
            }
          };
          open.add(end);
          signal.addEventListener('abort', () => end(), { once: true });
          if (signal.aborted) end();
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
    const { isHttp1, hasClosed } = hostServer(env);
    // Hono answers HEAD like GET, but that stream would never be read.
    const body = request.method === 'HEAD' ? null : streamTo(request, hasClosed);
    return new Response(body, {
      headers: {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'X-Accel-Buffering': 'no',
        // A closing server would wait for an idle connection, Fastify for 72 s.
        ...(isHttp1 && { Connection: 'close' }),
      },
    });
  };
}

function hostServer(env: unknown): { readonly isHttp1: boolean; readonly hasClosed: () => boolean } {
  const host = serverIn(env);
  const incoming = field(host, 'incoming');
  const server = field(field(incoming, 'socket'), 'server');
  // Bun's server has a port while it listens. Some Node servers get their connections from elsewhere, and never listen.
  const listens = (): boolean => field(server, 'listening') === true || Number(field(host, 'port')) > 0;
  const hasListened = listens();
  return { isHttp1: field(incoming, 'httpVersionMajor') === 1, hasClosed: () => hasListened && !listens() };
}

export interface Standing {
  readonly newest: number;
  readonly pending: Gauge;
  readonly retrying: Gauge;
  readonly processing: Gauge;
  readonly dead: Gauge;
  readonly version: number;
}

interface ChangesOptions {
  readonly everyMs?: number;
  readonly closed?: () => void;
}

const MINUTE_MS = 60_000;
const NEWEST = 'newest event';

/** Checks for changes once a second, for all listeners. Counts the states only if a sign of a change differs. */
export function watchChanges(
  inbox: AnyInbox,
  { everyMs = 1_000, closed = () => {} }: ChangesOptions = {},
): Changes<Standing> {
  const listeners = new Set<(standing: Standing) => void>();
  // The timer serves all listeners, so it must not run in the context of the first.
  const inOwnContext = ownContext();
  let timer: NodeJS.Timeout | undefined;
  let looking = false;
  let seen = new Map<string, string>();
  let standing: Standing | null = null;

  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    try {
      const found = await signs(inbox);
      // A count that only leaves the last two minutes is not a change.
      if (standing === null || Array.from(found).some(([what, sign]) => seen.get(what) !== sign)) {
        const { pending, retrying, processing, dead } = await operationsOf(inbox).gauges();
        const version = (standing?.version ?? 0) + 1;
        standing = { newest: Number(found.get(NEWEST)), pending, retrying, processing, dead, version };
        for (const listener of listeners) listener(standing);
      }
      seen = found;
    } catch (failure) {
      if (isInstance(failure, InboxUnavailableError) && failure.code === 'CLOSED') closed();
    } finally {
      looking = false;
    }
  }

  return {
    listen(listener) {
      listeners.add(listener);
      if (standing !== null) listener(standing);
      if (timer === undefined) {
        void look();
        timer = inOwnContext(() => setInterval(() => void look(), everyMs).unref());
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}

async function signs(inbox: AnyInbox): Promise<Map<string, string>> {
  const operations = operationsOf(inbox);
  const now = Date.now();
  const since = Math.floor(now / MINUTE_MS - 1) * MINUTE_MS;
  const [rows, page, audit, bulks] = await Promise.all([
    operations.counts(since, now + MINUTE_MS),
    operations.search({}, { limit: 1 }),
    operations.lines({ limit: 1 }),
    operations.bulks({ limit: 3 }),
  ]);
  return new Map([
    [NEWEST, String(page.events[0]?.seq ?? 0)],
    ...rows.map(({ at, what, detail, count }) => [`${at} ${what} ${detail}`, String(count)] as const),
    ...audit.lines.map(({ seq, counts }) => ['newest action', JSON.stringify([seq, counts])] as const),
    ...bulks.map(({ id, state, worked, total }) => [`bulk ${id}`, JSON.stringify([state, worked, total])] as const),
  ]);
}
