import type { Context, Env, Hono, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { plural } from '../ops/words/format.ts';
import type { Flash } from './acts/flash.ts';
import { ASSETS, type AssetName } from './asset-texts.ts';
import { Layout, PlainPage, type Look } from './layout.tsx';
import { takenAway } from './mounting.ts';
import type { Verdict } from './safety/authorization.ts';
import { type Tokens, peerOf, SAFE_HEADERS, type Guard } from './safety/request-guard.ts';
import type { Screen, Visitor } from './visit.ts';

export interface PageEnv {
  readonly Variables: { visitor: Visitor; form: FormData };
}

export type PageContext = Context<PageEnv>;

export interface FrameParts {
  readonly tokens: Tokens;
  readonly look: Look;
  readonly flashOf: Flash<string>['flashOf'];
  readonly site: string;
  readonly base: string | undefined;
}

export interface Frame extends Pick<FrameParts, 'tokens'> {
  readonly visitorOf: (c: PageContext) => Visitor;
  readonly baseOf: (c: PageContext) => string;
  readonly show: (c: PageContext, screen: Screen) => Promise<Response>;
  readonly problem: (
    c: PageContext,
    status: ContentfulStatusCode,
    title: string,
    sentence: string,
  ) => Promise<Response>;
}

export function createFrame({ tokens, look, flashOf, site, base }: FrameParts): Frame {
  const baseOf = (c: PageContext): string => base ?? mountedAt(c);
  // Hono types what a guard sets as if it were always set.
  const letIn = (c: PageContext): Visitor | undefined => c.get('visitor');

  const framed = (
    c: PageContext,
    status: ContentfulStatusCode,
    parts: Omit<Parameters<typeof Layout>[0], 'look' | 'base' | 'site' | 'sought'>,
  ) => {
    const sought = new URL(c.req.url).searchParams.get('q') ?? '';
    return answer(c, status, <Layout look={look} base={baseOf(c)} site={site} sought={sought} {...parts} />);
  };

  const visitorOf = (c: PageContext): Visitor => {
    const visitor = letIn(c);
    if (visitor === undefined) throw new Error('a route of the page was not guarded');
    return visitor;
  };

  return {
    tokens,
    visitorOf,
    baseOf,
    async show(c, { title, tab, status = 200, current, content }) {
      const visitor = visitorOf(c);
      const flash = flashOf(new URL(c.req.url));
      return framed(c, status, { title, tab, current, visitor, flash, content: await content });
    },
    async problem(c, status, title, sentence) {
      const visitor = letIn(c);
      if (visitor === undefined) return answer(c, status, <PlainPage title={title} sentence={sentence} />);
      const content = (
        <>
          <p class="warning" role="alert">
            <bdi>{sentence}</bdi>
          </p>
          <p>
            <a href={baseOf(c) === '' ? '/' : baseOf(c)}>Go to the overview</a>
          </p>
        </>
      );
      return framed(c, status, { title, current: null, visitor, flash: null, content });
    },
  };
}

async function answer(c: PageContext, status: ContentfulStatusCode, page: { toString(): unknown }): Promise<Response> {
  const html = await page.toString();
  return c.html(`<!doctype html>${String(html)}`, status);
}

/**
 * The mount path, without a slash at the end. It begins with one slash, because links that begin with two lead to another
 * host. Characters that a path cannot have are escaped.
 */
function mountedAt(c: PageContext): string {
  const path = takenAway(c.req.raw, c.req.path).replace(/\/+$/, '').replace(/^\/+/, '/');
  return path.replaceAll(/[^\w.~!$&'()*+,;=:@%/-]/g, encodeURIComponent);
}

export const safeHeaders: MiddlewareHandler<PageEnv> = async (c, next) => {
  await next();
  // An answer that came with headers that cannot be changed is copied by Hono.
  for (const [name, value] of Object.entries(SAFE_HEADERS)) c.header(name, value);
};

export function entrance(
  frame: Frame,
  guard: Guard,
  authorized: (request: Request, source?: string | null) => Promise<Verdict>,
): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    const peer = peerOf(c.env, c.req.raw);
    const forged = guard(c.req.raw, peer);
    if (forged !== null) return frame.problem(c, 403, 'Request from a different site', forged);
    const verdict = await authorized(c.req.raw, peer);
    if ('visitor' in verdict) {
      c.set('visitor', verdict.visitor);
      return next();
    }
    if (verdict.refused === 429) {
      c.header('Retry-After', String(verdict.retryAfterS));
      const sentence = `Too many failed logins. Try again in ${plural(verdict.retryAfterS, 'second')}.`;
      return frame.problem(c, 429, 'Too many failed logins', sentence);
    }
    if (verdict.refused === 403)
      return frame.problem(c, 403, 'Not allowed', 'Your account has no access to this page.');
    for (const challenge of verdict.challenges) c.header('WWW-Authenticate', challenge, { append: true });
    return frame.problem(c, 401, 'Log in', 'This page requires a user name and password, or a token.');
  };
}

export function noSuchScreen(frame: Frame): (c: PageContext) => Response | Promise<Response> {
  return (c) => frame.problem(c, 404, 'Not found', 'This page has no such screen or action.');
}

export const SCRIPTS = ['page.js', 'lists.js'] as const satisfies readonly AssetName[];

export function assetRoutes<E extends Env>(page: Hono<E>, names: readonly AssetName[]): void {
  for (const name of names) {
    const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
    page.get(`/assets/${name}`, (c) => c.body(ASSETS[name], 200, { 'Content-Type': `${type}; charset=utf-8` }));
  }
}
