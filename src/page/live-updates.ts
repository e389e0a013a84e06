import { InboxUnavailableError, isInstance } from '../errors.ts';
import { ownContext } from '../host/own-context.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from '../host/real-timers.ts';
import type { AnyInbox } from '../inbox/contract.ts';
import type { Gauge } from '../inbox/rules/counted.ts';
import { operationsOf } from '../ops/operations-of.ts';
import { field, toldBy } from './safety/request-guard.ts';

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

interface LiveOptions {
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

/** The server that a request came to, as far as the host tells of it. */
interface HostServer {
  /** its connections can be asked to close after an answer */
  readonly isHttp1: boolean;
  /** it has stopped to listen since then; never, where the host does not say, as Deno */
  readonly hasClosed: () => boolean;
}

/** @param env - what the host has given along with the request */
function hostServer(env: unknown): HostServer {
  const told = toldBy(env);
  const incoming = field(told, 'incoming');
  const server = field(field(incoming, 'socket'), 'server');
  // That of Node says so, and that of Bun has a port until then. Some are given their connections, and listen never.
  const listens = (): boolean => field(server, 'listening') === true || Number(field(told, 'port')) > 0;
  const hasListened = listens();
  return { isHttp1: field(incoming, 'httpVersionMajor') === 1, hasClosed: () => hasListened && !listens() };
}

/** How things stand, as far as pages that show it want to know. */
export interface Standing {
  /** the `seq` of the newest event; 0 when there is none */
  readonly newest: number;
  readonly pending: Gauge;
  readonly retrying: Gauge;
  readonly processing: Gauge;
  readonly dead: Gauge;
  /** grows with every change that was seen, in this process */
  readonly version: number;
}

interface ChangesOptions {
  readonly everyMs?: number;
  /** told when the inbox was closed: nothing changes any more */
  readonly closed?: () => void;
}

const MINUTE_MS = 60_000;

/**
 * One look a second for all listeners, and none without any. A look is a few short reads: what was counted in the
 * last two minutes, the newest event, action and bulk action. Only when one of these differs are the states
 * counted.
 */
export function watchChanges(
  inbox: AnyInbox,
  { everyMs = 1_000, closed = () => {} }: ChangesOptions = {},
): Changes<Standing> {
  const listeners = new Set<(standing: Standing) => void>();
  /** Of a timer that serves all listeners and not the one that it begins with. */
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
      // What is not counted in the last minutes any more has not changed by that.
      const changed = standing === null || Array.from(found).some(([what, sign]) => seen.get(what) !== sign);
      if (changed) {
        standing = await standingOf(inbox, found, (standing?.version ?? 0) + 1);
        tell(standing);
      }
      seen = found;
    } catch (failure) {
      // Where the inbox is busy the next look tells.
      if (isInstance(failure, InboxUnavailableError) && failure.code === 'CLOSED') closed();
    } finally {
      looking = false;
    }
  }

  function tell(now: Standing): void {
    for (const listener of listeners) listener(now);
  }

  return {
    listen(listener) {
      listeners.add(listener);
      if (standing !== null) listener(standing);
      if (timer === undefined) {
        // Nobody has looked for a while.
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

const NEWEST = 'newest event';

/** What differs when something has happened, by what it is. */
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
  const found = new Map([[NEWEST, String(page.events[0]?.seq ?? 0)]]);
  for (const { at, what, detail, count } of rows) found.set(`${at} ${what} ${detail}`, String(count));
  for (const line of audit.lines) found.set('newest action', JSON.stringify([line.seq, line.counts]));
  for (const { id, state, worked, total } of bulks) found.set(`bulk ${id}`, JSON.stringify([state, worked, total]));
  return found;
}

async function standingOf(inbox: AnyInbox, found: ReadonlyMap<string, string>, version: number): Promise<Standing> {
  const { pending, retrying, processing, dead } = await operationsOf(inbox).gauges();
  return { newest: Number(found.get(NEWEST)), pending, retrying, processing, dead, version };
}
