/** Where the page's stylesheet is. */
export const PAGE_STYLE = '/interface/page.css';

const PATHS: ReadonlySet<string> = new Set(['/openapi.json', '/interface', PAGE_STYLE]);

/** Whether a request is for the document or its page, which are the sandbox's own: everything else is the service's. */
export function isForInterface({ method, url }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && PATHS.has(new URL(url).pathname);
}
