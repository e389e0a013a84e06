import type { Hono } from 'hono';
import { postedForm } from '../safety/posted-form.ts';
import type { PageContext, PageEnv, Shell } from '../shell.tsx';
import { keyOf } from './act-routes.ts';
import { attachment, masked } from './attachment.ts';
import { chosenExport, exportAnswer } from './export-answer.ts';

const MAX_FORM_BYTES = 256 * 1024;

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
    const { visitor, url } = shell.visitOf(c);
    if (visitor.role !== 'operator') {
      return shell.problem(c, 403, 'Not allowed', 'Your role is viewer. Only operators can export events.');
    }
    if (shell.mask.masks) return masked(c, shell);
    if (c.req.method === 'HEAD') return c.body(null);
    // It stands in the audit, so another site's link must not do it.
    const site = c.req.header('sec-fetch-site') ?? 'none';
    if (site !== 'same-origin' && site !== 'none') {
      return shell.problem(
        c,
        403,
        'Request from a different site',
        'Start the export on this page, not from a link on a different site.',
      );
    }
    return exportAnswer(c, shell, url.searchParams);
  });

  // What is chosen: more names than a URL has room for.
  page.post('/maintenance/export', postedForm(shell, MAX_FORM_BYTES), (c) => chosenExport(c, shell));

  async function body(c: PageContext, bytes: Uint8Array | null, name: string): Promise<Response> {
    if (bytes === null) return shell.problem(c, 404, 'Not found', 'The inbox does not contain this body.');
    return c.body(Uint8Array.from(shell.mask.mask(bytes)), 200, {
      'Content-Type': 'application/octet-stream',
      // The id is the sender's text, so it is no file name.
      'Content-Disposition': attachment(`${name}.json`),
    });
  }
}
