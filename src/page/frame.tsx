import { Hono, type Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { plural } from '../ops/words/format.ts';
import type { Flash } from './acts/flash.ts';
import { ASSETS } from './asset-texts.ts';
import { FAVICON, Layout, type LayoutParts, type Look, PlainPage } from './layout.tsx';
import type { liveStreams } from './live-updates.ts';
import { mountable, takenAway } from './mounting.ts';
import type { PageOptions } from './page-options.ts';
import { StoredText } from './parts/text.tsx';
import { keepPreferences, preferencesOf, returnPath } from './preferences.ts';
import { CHALLENGES, createAuthorization } from './safety/authorization.ts';
import { createGuard, csrfTokens, peerOf, SAFE_HEADERS, type Tokens } from './safety/request-guard.ts';
import type { Screen, Visit, Visitor } from './visit.ts';

export interface PageEnv {
  readonly Variables: { visitor: Visitor; form: FormData };
}

export type PageContext = Context<PageEnv>;

interface FrameParts {
  readonly look: Look;
  readonly flashOf: Flash<string>['flashOf'];
  readonly site: string;
  readonly live: ReturnType<typeof liveStreams>;
  /** adds routes that need no login */
  readonly openRoutes?: (page: Hono<PageEnv>) => void;
}

export interface Frame extends Pick<Tokens, 'isTokenOf'> {
  readonly page: Hono<PageEnv>;
  /** @throws Error on a route without a guard, which must show nothing */
  readonly visitOf: (c: PageContext) => Pick<Visit, 'visitor' | 'base' | 'csrf' | 'url'>;
  readonly show: (c: PageContext, screen: Screen) => Promise<Response>;
  readonly problem: (
    c: PageContext,
    status: ContentfulStatusCode,
    title: string,
    sentence: string,
  ) => Promise<Response>;
  readonly finished: () => Hono;
}

/** Routes that are added later answer only visitors with access. */
export function createFrame(options: PageOptions, { look, flashOf, site, live, openRoutes }: FrameParts): Frame {
  const authorized = createAuthorization(options);
  const guard = createGuard(options, Boolean(options.unsafeOpen));
  const { tokenFor, isTokenOf } = csrfTokens(options.secret);
  const base = options.base?.replace(/\/+$/, '');
  const baseOf = (c: PageContext): string => base ?? mountedAt(c);
  // Hono types a variable that a guard sets as if it were always set.
  const letIn = (c: PageContext): Visitor | undefined => c.get('visitor');
  const formOf = (c: PageContext): FormData | undefined => c.get('form');

  const framed = (
    c: PageContext,
    status: ContentfulStatusCode,
    parts: Pick<LayoutParts, 'title' | 'tab' | 'current' | 'visitor' | 'flash' | 'content'> &
      Partial<Pick<LayoutParts, 'sought' | 'bar'>>,
  ) => {
    const { search, searchParams } = new URL(c.req.url);
    const ownBase = baseOf(c);
    const isPassword = /^basic /i.test(c.req.header('authorization') ?? '');
    return answer(
      c,
      status,
      <Layout
        look={look}
        base={ownBase}
        site={site}
        sought={searchParams.get('q') ?? ''}
        preferences={preferencesOf(c)}
        here={c.req.method === 'GET' ? `${ownBase}${c.req.path === '/' ? '' : c.req.path}${search}` : ownBase}
        signOut={options.signOut ?? (isPassword ? `${ownBase}/signout` : null)}
        {...parts}
      />,
    );
  };

  const visitOf: Frame['visitOf'] = (c) => {
    const visitor = letIn(c);
    if (visitor === undefined) throw new Error('a route of the page was not guarded');
    return { visitor, base: baseOf(c), csrf: tokenFor(visitor), url: new URL(c.req.url) };
  };

  const problem: Frame['problem'] = async (c, status, title, sentence) => {
    const visitor = letIn(c);
    if (visitor === undefined) return answer(c, status, <PlainPage title={title} sentence={sentence} />);
    const content = (
      <>
        <p class="warning" role="alert">
          <bdi>{sentence}</bdi>
        </p>
        {typedIn(formOf(c)).map(([name, text]) => (
          <p class="typed">
            You entered this {name}: <StoredText text={text} />
          </p>
        ))}
        <p>
          <a href={baseOf(c) || '/'}>Go to the overview</a>
        </p>
      </>
    );
    return framed(c, status, { title, tab: title, current: null, visitor, flash: null, content });
  };

  const page = new Hono<PageEnv>();
  page.use('*', async (c, next) => {
    await next();
    // Hono copies a response whose headers cannot be changed.
    for (const [name, value] of Object.entries(SAFE_HEADERS)) c.header(name, value);
  });
  openRoutes?.(page);
  // A browser forgets a password only after a 401.
  page.get('/signout', (c) => {
    c.header('WWW-Authenticate', CHALLENGES.basic);
    return answer(
      c,
      401,
      <PlainPage title="Signed out" sentence="You are signed out. Close this tab, or go back to sign in again." />,
    );
  });
  page.use('*', async (c, next) => {
    const peer = peerOf(c.env, c.req.raw);
    const forged = guard(c.req.raw, peer);
    if (forged !== null) return problem(c, 403, 'Request from a different site', forged);
    const verdict = await authorized(c.req.raw, peer);
    if ('visitor' in verdict) {
      c.set('visitor', verdict.visitor);
      return next();
    }
    if (verdict.refused === 429) {
      c.header('Retry-After', String(verdict.retryAfterS));
      const sentence = `Too many failed logins. Try again in ${plural(verdict.retryAfterS, 'second')}.`;
      return problem(c, 429, 'Too many failed logins', sentence);
    }
    if (verdict.refused === 403) {
      const sentence = 'Your account has no access to this page. Ask an administrator of your application for access.';
      return problem(c, 403, 'Not allowed', sentence);
    }
    for (const challenge of verdict.challenges) c.header('WWW-Authenticate', challenge, { append: true });
    return problem(c, 401, 'Log in', 'This page requires a user name and password, or a token.');
  });
  // The first script loads the others.
  for (const name of [...look.styles, 'page.js', 'lists.js', 'charts.js'] as const) {
    const type = name.endsWith('.css') ? 'text/css' : 'text/javascript';
    page.get(`/assets/${name}`, (c) => c.body(ASSETS[name], 200, { 'Content-Type': `${type}; charset=utf-8` }));
  }
  page.get('/assets/favicon.svg', (c) => c.body(FAVICON, 200, { 'Content-Type': 'image/svg+xml' }));
  page.get('/preferences', (c) => {
    keepPreferences(c, baseOf(c), c.req.query());
    return c.redirect(returnPath(baseOf(c), c.req.query('to')));
  });
  page.get('/live', (c) => live(c.req.raw, c.env));

  return {
    page,
    isTokenOf,
    visitOf,
    async show(c, { title, heading = title, tab = title, status = 200, content, ...others }) {
      const { visitor, url } = visitOf(c);
      return framed(c, status, {
        title: heading,
        tab,
        visitor,
        flash: flashOf(url),
        content: await content,
        ...others,
      });
    },
    problem,
    finished() {
      page.all('*', (c) => problem(c, 404, 'Not found', 'This page has no such screen or action. Check the address.'));
      return mountable(page, base);
    },
  };
}

const TYPED = new Set(['reason', 'link', 'rate', 'type']);

/** A form that fails must not lose the visitor's text. */
function typedIn(form: FormData | undefined): readonly (readonly [name: string, text: string])[] {
  return [...(form ?? [])].flatMap(([name, text]) =>
    TYPED.has(name) && typeof text === 'string' && text !== '' ? [[name, text] as const] : [],
  );
}

async function answer(c: PageContext, status: ContentfulStatusCode, page: { toString(): unknown }): Promise<Response> {
  const html = await page.toString();
  return c.html(`<!doctype html>${String(html)}`, status);
}

/** Ends without a slash and begins with one, because links that begin with two lead to another host. */
function mountedAt(c: PageContext): string {
  const path = takenAway(c.req.raw, c.req.path).replace(/\/+$/, '').replace(/^\/+/, '/');
  return path.replaceAll(/[^\w.~!$&'()*+,;=:@%/-]/g, encodeURIComponent);
}
