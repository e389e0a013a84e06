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

/** An adapter passes this with each request. */
export interface Mounted {
  readonly server: unknown;
  /** or as many segments of any name; `null` if the host does not say */
  readonly mountedAt: string | null;
}

/** The page answers below the path of an adapter or of another Hono app, or on its server alone. */
export function mountable<E extends Env>(page: Hono<E>, base: string | undefined): Hono {
  const own = new Set(page.routes.map(({ path }) => path.split('/')[1] ?? '').filter((part) => /^\w+$/.test(part)));
  const whole = new Hono({ getPath: (request, options) => pathWithin(request, options?.env, own, base) });
  whole.route('/', page);
  // A single route, because the contexts of another copy of Hono lack the page's variables.
  return new Hono().all('*', ({ req, env }) => {
    const mounted = isMounted(env) ? env : ({ server: env, mountedAt: routedAt(req) } satisfies Mounted);
    return whole.fetch(req.raw, mounted);
  });
}

function routedAt({ routePath }: { readonly routePath: string }): string | null {
  return routePath.includes('{') ? null : routePath.replace(/\/?\*$/, '');
}

/** If the mount path is unknown, the page's part begins with the first segment that a route of the page has. */
function pathWithin(request: Request, env: unknown, own: ReadonlySet<string>, base: string | undefined): string {
  const path = getPath(request);
  if (!isMounted(env)) return path;
  if (env.mountedAt !== null) return behind(path, depthOf(env.mountedAt));
  // A proxy may have removed the base.
  if (base !== undefined) return path === base || path.startsWith(`${base}/`) ? behind(path, depthOf(base)) : path;
  const first = path.split('/').findIndex((part, n) => n > 0 && own.has(part));
  return first === -1 ? '/' : behind(path, first - 1);
}

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

/** Counts segments, because the mount path may have parameters, and the path has escaped characters. */
function behind(path: string, depth: number): string {
  return `/${path
    .split('/')
    .slice(depth + 1)
    .join('/')}`;
}
