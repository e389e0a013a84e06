import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Mounted, Page } from '../src/page/mounting.ts';

/** What frameworks add to a request, by which one finds out where in them a page is mounted, and what they have read. */
interface FrameworkRequest extends IncomingMessage {
  /** of Express: the path that `use` was given, as it was asked for */
  readonly baseUrl?: unknown;
  /** of Express: set where the page stands behind `all` or `get`, which take no part of the path away */
  readonly route?: unknown;
  /** of Express and connect: the whole path, where `url` is without the part that `use` was given */
  readonly originalUrl?: unknown;
  readonly body?: unknown;
  rawBody?: unknown;
}

/**
 * Has a page answer the requests of a Node server.
 *
 * @param mountedAt - where a framework says it by itself
 */
export function nodePage(
  page: Page,
  mountedAt: (request: IncomingMessage) => string | null = mountOf,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request: FrameworkRequest, response) => {
    const at = mountedAt(request);
    // Loaded when a page is asked for: who takes webhooks only never needs it.
    const { getRequestListener } = await import('@hono/node-server');
    const listener = getRequestListener(
      (asked, server) => page.fetch(asked, { server, mountedAt: at } satisfies Mounted),
      { overrideGlobalObjects: false },
    );
    keepForm(request);
    const { url, originalUrl } = request;
    // The page is asked by the whole path. It is read before the listener first waits; the rest of the app finds what it knows.
    if (typeof originalUrl === 'string') request.url = originalUrl;
    const answered = listener(request, response);
    if (url !== undefined) request.url = url;
    await answered;
  };
}

/** Where Express or connect have mounted the page. */
function mountOf({ baseUrl, route, originalUrl, url = '' }: FrameworkRequest): string | null {
  if (typeof baseUrl === 'string') return route === undefined ? baseUrl : null;
  if (typeof originalUrl !== 'string') return null;
  const [whole, rest] = [pathOf(originalUrl), pathOf(url)];
  if (whole === rest) return null;
  if (rest === '/') return whole;
  return whole.endsWith(rest) ? whole.slice(0, -rest.length) : null;
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}

/**
 * What a parser before the page has made of a form is written again, as its signature is no matter: the page's own token
 * stands in it.
 */
function keepForm(request: FrameworkRequest): void {
  const { body, rawBody, headers } = request;
  if (Buffer.isBuffer(rawBody) || !request.readableDidRead) return;
  if (Buffer.isBuffer(body)) request.rawBody = body;
  if (typeof body !== 'object' || body === null || Buffer.isBuffer(body)) return;
  if (!/^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '')) return;
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    for (const each of valuesOf(value)) form.append(name, each);
  }
  request.rawBody = Buffer.from(form.toString());
}

/** A field that was given several times is a list, or from some number on an object with numbers for names. */
function valuesOf(value: unknown): string[] {
  return (typeof value === 'object' && value !== null ? Object.values(value) : [value]).map(String);
}
