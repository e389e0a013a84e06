import { MOST_GROUPS } from '../../inbox/rules/error-groups.ts';
import { exportEvents, exportOfEach, readableLines, readableFormats } from '../../ops/export.ts';
import { readFilter } from '../parts/filter-fields.ts';
import { postedForm, fieldsOf } from '../safety/posted-form.ts';
import { keyOf, type Shell } from '../shell.tsx';
import type { PageContext } from '../frame.tsx';

const MAX_FORM_BYTES = 256 * 1024;

export function downloadRoutes(shell: Shell): void {
  const { page, operated } = shell;
  const { inbox } = operated;

  page.get('/events/:endpoint/:id/:body{raw|conflict}', async (c) => {
    const event = await inbox.get(keyOf(c));
    const isConflict = c.req.param('body') === 'conflict';
    const bytes = isConflict ? event?.conflict?.body : event?.body;
    if (!bytes) return shell.problem(c, 404, 'Not found', 'The inbox does not contain this body.');
    return c.body(Uint8Array.from(shell.mask.mask(bytes)), 200, {
      'Content-Type': 'application/octet-stream',
      // The id is the sender's text, so it must not become a file name.
      'Content-Disposition': attachment(isConflict ? 'other-body.json' : 'body.json'),
    });
  });

  page.get('/maintenance/export', async (c) => {
    const { visitor, url } = shell.visitOf(c);
    if (visitor.role !== 'operator') {
      return shell.problem(c, 403, 'Not allowed', 'Your role is viewer. Only operators can export events.');
    }
    if (shell.mask.masks) return masked(c, shell);
    if (c.req.method === 'HEAD') return c.body(null);
    // The audit records an export, so a link on another site must not start one.
    const site = c.req.header('sec-fetch-site') ?? 'none';
    if (site !== 'same-origin' && site !== 'none') {
      const sentence = 'Start the export on this page, not from a link on a different site.';
      return shell.problem(c, 403, 'Request from a different site', sentence);
    }
    return exportAnswer(c, shell, url.searchParams);
  });

  // A selection may have too many names for a URL.
  page.post('/maintenance/export', postedForm(shell, MAX_FORM_BYTES), (c) => chosenExport(c, shell));
}

const FILES = {
  exact: { type: 'application/x-ndjson', ending: 'ndjson', end: '\n' },
  json: { type: 'application/x-ndjson', ending: 'ndjson', end: '\n' },
  csv: { type: 'text/csv', ending: 'csv', end: '\r\n' },
} as const;

export async function chosenExport(c: PageContext, shell: Shell): Promise<Response> {
  if (shell.mask.masks) return masked(c, shell);
  const fields = fieldsOf(c.get('form'));
  // Without any of them, the export would contain all events.
  const isChosen = [...fields.getAll('event'), ...fields.getAll('fingerprint')].some((value) => value.trim() !== '');
  if (!isChosen) {
    return shell.problem(c, 400, 'Nothing selected', 'First select rows with their checkboxes. Nothing was exported.');
  }
  return exportAnswer(c, shell, fields);
}

async function exportAnswer(c: PageContext, shell: Shell, fields: URLSearchParams): Promise<Response> {
  const { inbox } = shell.operated;
  const { visitor, now } = shell.visitOf(c);
  const { filter, problems } = readFilter(fields, now);
  const groups = [...new Set(fields.getAll('fingerprint').filter((value) => value.trim() !== ''))];
  const wrong =
    groups.length > MOST_GROUPS ? [`Select at most ${MOST_GROUPS} groups, not ${groups.length}.`] : problems;
  if (wrong.length > 0) return shell.problem(c, 400, 'Invalid filter', wrong.join(' '));
  const ended = new AbortController();
  const by = { actor: visitor.name, via: 'page' } as const;
  const { signal } = ended;
  const [first, ...others] = groups.map((fingerprint) => ({ ...filter, fingerprint }));
  const exact =
    first === undefined || others.length === 0
      ? exportEvents(inbox, by, filter, { signal })
      : exportOfEach(inbox, by, [first, ...others], { ...filter, fingerprint: groups }, { signal });
  const format = readableFormats.find((each) => each === fields.get('format'));
  const lines = format === undefined ? exact : readableLines(format, exact);
  const { type, ending, end } = FILES[format ?? 'exact'];
  // For an export that fails at once, the response is a page, not a file that ends early.
  const begun = await lines.next();
  return c.body(streamOf(begun, lines, end, ended), 200, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Disposition': attachment(`hookbox-${format === undefined ? 'export' : 'events'}-${stamp(now)}.${ending}`),
  });
}

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

export function attachment(name: string): string {
  return `attachment; filename="${name}"`;
}

export function stamp(now: Date): string {
  return `${now.toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
}

export function masked(c: PageContext, shell: Shell): Promise<Response> {
  const sentence =
    'This page masks fields, so exports and backups cannot be downloaded. Run hookbox events export or hookbox ' +
    'events backup on the server.';
  return shell.problem(c, 403, 'Not available here', sentence);
}
