import type { Hono } from 'hono';
import { exportReadable } from '../../ops/readable-export.ts';
import { readableFormats } from '../../ops/words/readable-formats.ts';
import { exportEvents } from '../../ops/export.ts';
import { keyOf } from './act-routes.ts';
import { attachment, masked, stamp } from './attachment.ts';
import { readFilter } from '../parts/filter-query.ts';
import type { PageContext, PageEnv, Shell } from '../shell.tsx';

/** What a browser takes each format for. */
const FILES = {
  exact: { type: 'application/x-ndjson', ending: 'ndjson', end: '\n' },
  json: { type: 'application/x-ndjson', ending: 'ndjson', end: '\n' },
  csv: { type: 'text/csv', ending: 'csv', end: '\r\n' },
} as const;

/** The bytes of an event, and an export of many. */
export function downloadRoutes(page: Hono<PageEnv>, shell: Shell): void {
  const { inbox } = shell.operated;

  page.get('/events/:endpoint/:id/raw', async (c) => {
    const event = await inbox.get(keyOf(c));
    return body(c, event?.body ?? null, 'body');
  });

  page.get('/events/:endpoint/:id/conflict', async (c) => {
    const event = await inbox.get(keyOf(c));
    return body(c, event?.conflict?.body ?? null, 'other-body');
  });

  page.get('/maintenance/export', async (c) => {
    const { visitor, now, url } = shell.visitOf(c);
    if (visitor.role !== 'operator') {
      return shell.problem(c, 403, 'Not allowed', 'You look on as a viewer. Only operators may export.');
    }
    if (shell.mask.masks) return masked(c, shell);
    if (c.req.method === 'HEAD') return c.body(null);
    // It stands in the audit, so another site's link must not do it.
    const site = c.req.header('sec-fetch-site') ?? 'none';
    if (site !== 'same-origin' && site !== 'none') {
      return shell.problem(c, 403, 'Not from here', 'An export is begun on this page, and not by a link elsewhere.');
    }
    const { filter, problems } = readFilter(url.searchParams, now);
    if (problems.length > 0) return shell.problem(c, 400, 'The filter cannot be read', problems.join(' '));
    const ended = new AbortController();
    const by = { actor: visitor.name, via: 'page' } as const;
    const format = readableFormats.find((each) => each === url.searchParams.get('format'));
    const lines =
      format === undefined
        ? exportEvents(inbox, by, filter, { signal: ended.signal })
        : exportReadable(inbox, format, by, filter, { signal: ended.signal });
    const { type, ending, end } = FILES[format ?? 'exact'];
    // What fails at once is said on a page, and not by a file that ends early.
    const first = await lines.next();
    return c.body(streamOf(first, lines, end, ended), 200, {
      'Content-Type': `${type}; charset=utf-8`,
      'Content-Disposition': attachment(
        `hookbox-${format === undefined ? 'export' : 'events'}-${stamp(now)}.${ending}`,
      ),
    });
  });

  async function body(c: PageContext, bytes: Uint8Array | null, name: string): Promise<Response> {
    if (bytes === null) return shell.problem(c, 404, 'Nothing to download', 'There is no such body here.');
    return c.body(Uint8Array.from(shell.mask.mask(bytes)), 200, {
      'Content-Type': 'application/octet-stream',
      // The id is the sender's text, so it is no file name.
      'Content-Disposition': attachment(`${name}.json`),
    });
  }
}

/** Asks for the next line only when the client has taken the one before. */
function streamOf(
  first: IteratorResult<string, void>,
  lines: AsyncGenerator<string, void>,
  end: string,
  ended: AbortController,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let next: IteratorResult<string, void> | null = first;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = next ?? (await lines.next());
        next = null;
        if (done === true) controller.close();
        else controller.enqueue(encoder.encode(`${value}${end}`));
      },
      async cancel() {
        ended.abort();
        await lines.return();
      },
    },
    { highWaterMark: 0 },
  );
}
