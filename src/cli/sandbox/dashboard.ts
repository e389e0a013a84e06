/** Where the page is, beneath the address of the sandbox. */
export const DASHBOARD = '/dashboard';

/** The page is to stand here: `sandboxPage(sandbox)` of `await import('../../sandbox/page/…')`, loaded when somebody asks for it. */
export function dashboard(): Response {
  return new Response('This version of hookbox has no page for the sandbox yet.\n');
}
