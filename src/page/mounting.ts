import { Hono, type Env } from 'hono';
import { getPath } from 'hono/utils/url';

/**
 * A hookbox page. `opsPage` and `sandboxPage` each create a page, and the `pageHandler` of each adapter mounts a page.
 */
export interface Page {
  /**
   * Answers one request.
   *
   * @param request - the request with its full path
   * @param env - the host's data; adapters add the mount path
   */
  fetch(request: Request, env?: object): Response | Promise<Response>;
}

/** What an adapter hands on along with a request. */
export interface Mounted {
  /** what the host has given: where the request comes from is told there */
  readonly server: unknown;
  /** the path that the page is mounted at, or as many segments of any name; `null` where the host does not say */
  readonly mountedAt: string | null;
}

/**
 * The app that a page is mounted by: it answers below the path that an adapter has mounted it at, or that a Hono app
 * routes to it,
 * or on a server of its own. Whoever mounts it need not know what the page keeps about a request.
 *
 * @param base - the path that browsers see the page at, where somebody has said so
 */
export function mountable<E extends Env>(page: Hono<E>, base: string | undefined): Hono {
  const own = new Set(page.routes.map(({ path }) => path.split('/')[1] ?? '').filter((part) => /^\w+$/.test(part)));
  const whole = new Hono({ getPath: (request, options) => pathWithin(request, options?.env, own, base) });
  whole.route('/', page);
  // One route, which an app of another copy of Hono takes as well: that one's contexts lack what ours keeps in them.
  return new Hono().all('*', ({ req, env }) => {
    const mounted = isMounted(env) ? env : ({ server: env, mountedAt: routedAt(req) } satisfies Mounted);
    return whole.fetch(req.raw, mounted);
  });
}

/** Where an app has routed a page, unless a parameter there may stand for several segments. */
function routedAt({ routePath }: { readonly routePath: string }): string | null {
  return routePath.includes('{') ? null : routePath.replace(/\/?\*$/, '');
}

/**
 * What a request asks of a page: the part of its path behind where the page is mounted. Where nobody says where that
 * is, it is
 * before the first part that only the page has; a path without any is the page's own.
 *
 * @param own - what the page's routes begin with, such as `events`
 */
function pathWithin(request: Request, env: unknown, own: ReadonlySet<string>, base: string | undefined): string {
  const path = getPath(request);
  if (!isMounted(env)) return path;
  if (env.mountedAt !== null) return behind(path, depthOf(env.mountedAt));
  // A proxy may have taken it away.
  if (base !== undefined) return path === base || path.startsWith(`${base}/`) ? behind(path, depthOf(base)) : path;
  const first = path.split('/').findIndex((part, n) => n > 0 && own.has(part));
  return first === -1 ? '/' : behind(path, first - 1);
}

/** Where a page was found to be mounted, in the path as it came: what `mountable` has taken away. */
export function takenAway(request: Request, within: string): string {
  const path = getPath(request);
  if (within === '/') return path.replace(/\/+$/, '');
  return path.endsWith(within) ? path.slice(0, path.length - within.length) : '';
}

function isMounted(env: unknown): env is Mounted {
  return typeof env === 'object' && env !== null && 'mountedAt' in env && 'server' in env;
}

function depthOf(mountedAt: string): number {
  return mountedAt.replace(/\/+$/, '').split('/').length - 1;
}

/** By the number of segments: characters may be escaped in one of the two, and names of a route's parameters stand in the other. */
function behind(path: string, depth: number): string {
  return `/${path
    .split('/')
    .slice(depth + 1)
    .join('/')}`;
}
