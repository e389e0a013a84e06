import type { Hono } from 'hono';
import { exportEvents } from '../../ops/export.ts';
import { keyOf } from './act-routes.ts';
import { attachment, masked, stamp } from './attachment.ts';
import { readFilter } from '../parts/filter-query.ts';
import type { PageContext, PageEnv, Shell } from '../shell.tsx';

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
    const lines = exportEvents(inbox, { actor: visitor.name, via: 'page' }, filter, { signal: ended.signal });
    // What fails at once is said on a page, and not by a file that ends early.
    const first = await lines.next();
    return c.body(streamOf(first, lines, ended), 200, {
      'Content-Type': 'application/x-ndjson; charset=utf-8',
      'Content-Disposition': attachment(`hookbox-export-${stamp(now)}.ndjson`),
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
        else controller.enqueue(encoder.encode(`${value}\n`));
      },
      async cancel() {
        ended.abort();
        await lines.return();
      },
    },
    { highWaterMark: 0 },
  );
}
