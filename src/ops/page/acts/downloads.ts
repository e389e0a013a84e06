import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Hono } from 'hono';
import { backup, exportEvents } from '../../transfer.ts';
import { keyOf } from './acts.ts';
import { readFilter } from '../parts/filter-query.ts';
import { byOf, postedForm } from '../safety/posted-form.ts';
import type { PageContext, PageEnv, Shell } from '../shell.tsx';

const MAX_FORM_BYTES = 64 * 1024;

/** The bytes of an event, an export of many, and a copy of all. */
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
    if (shell.mask.masks) return masked(c);
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

  page.post('/maintenance/backup', postedForm(shell, MAX_FORM_BYTES), async (c) => {
    if (shell.mask.masks) return masked(c);
    const folder = await mkdtemp(join(tmpdir(), 'hookbox-backup-'));
    const remove = (): void => void rm(folder, { recursive: true, force: true }).catch(() => {});
    try {
      const { file, bytes } = await backup(inbox, join(folder, 'inbox.db'), byOf(shell, c, c.get('form')));
      // Read or not: it closes when the client has it all, and when the client has gone.
      const copy = createReadStream(file).once('close', remove);
      // Node's type of a web stream is not the one that Response asks for, but the stream is.
      return c.body(Readable.toWeb(copy) as ReadableStream, 200, {
        'Content-Type': 'application/vnd.sqlite3',
        'Content-Length': String(bytes),
        'Content-Disposition': attachment(`hookbox-backup-${stamp(shell.visitOf(c).now)}.db`),
      });
    } catch (failure) {
      remove();
      throw failure;
    }
  });

  async function body(c: PageContext, bytes: Uint8Array | null, name: string): Promise<Response> {
    if (bytes === null) return shell.problem(c, 404, 'Nothing to download', 'There is no such body here.');
    return c.body(Uint8Array.from(shell.mask.mask(bytes)), 200, {
      'Content-Type': 'application/octet-stream',
      // The id is the sender's text, so it is no file name.
      'Content-Disposition': attachment(`${name}.json`),
    });
  }

  function masked(c: PageContext): Promise<Response> {
    const sentence =
      'This page masks some fields, so it hands out no copy that has them. ' +
      'Use hookbox events export or hookbox events backup on the machine itself.';
    return shell.problem(c, 403, 'Not on this page', sentence);
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

function attachment(name: string): string {
  return `attachment; filename="${name}"`;
}

/** `2026-01-01T03-12-07Z`, which every file system takes. */
function stamp(now: Date): string {
  return `${now.toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
}
