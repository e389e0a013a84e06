import type { PageContext, Shell } from '../shell.tsx';

/** The header of an answer that a browser saves under this name, and never shows. */
export function attachment(name: string): string {
  return `attachment; filename="${name}"`;
}

/** `2026-01-01T03-12-07Z`, which every file system takes. */
export function stamp(now: Date): string {
  return `${now.toISOString().slice(0, 19).replaceAll(':', '-')}Z`;
}

/** The answer to whoever asks for a copy of what this page masks. */
export function masked(c: PageContext, shell: Shell): Promise<Response> {
  const sentence =
    'This page masks fields, so exports and backups cannot be downloaded. Run hookbox events export or hookbox ' +
    'events backup on the server.';
  return shell.problem(c, 403, 'Not available here', sentence);
}
