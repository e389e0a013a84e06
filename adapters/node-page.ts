import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Mounted, Page } from '../src/page/mounting.ts';

interface FrameworkRequest extends IncomingMessage {
  /** Express: the path that `use` got. */
  readonly baseUrl?: unknown;
  /** Express: set behind `all` or `get`, which remove no part of the path. */
  readonly route?: unknown;
  /** Express and connect: the whole path; `url` lacks the part that `use` removed. */
  readonly originalUrl?: unknown;
  readonly body?: unknown;
  rawBody?: unknown;
}

export function nodePage(
  page: Page,
  mountedAt: (request: IncomingMessage) => string | null = mountOf,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (request: FrameworkRequest, response) => {
    const at = mountedAt(request);
    // Loaded with the first page, because a receiver of webhooks does not need it.
    const { getRequestListener } = await import('@hono/node-server');
    const listener = getRequestListener(
      (requested, server) => page.fetch(requested, { server, mountedAt: at } satisfies Mounted),
      { overrideGlobalObjects: false },
    );
    keepForm(request);
    const { url, originalUrl } = request;
    // The page needs the whole path. It is read before the listener first waits, so it can be restored.
    if (typeof originalUrl === 'string') request.url = originalUrl;
    const answered = listener(request, response);
    if (url !== undefined) request.url = url;
    await answered;
  };
}

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

/** Serialises a form again that a parser has read. The form needs no signature, only the page's token. */
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

/** A repeated field is a list or, above some length, an object with numbers for names. */
function valuesOf(value: unknown): string[] {
  return (typeof value === 'object' && value !== null ? Object.values(value) : [value]).map(String);
}
