import type { MiddlewareHandler } from 'hono';
import { setCookie } from 'hono/cookie';
import { plural } from '../../ops/words/format.ts';
import type { Frame, PageContext, PageEnv } from '../frame.tsx';
import type { Verdict } from './authorization.ts';
import { KNOWN_COOKIE } from './known-browser.ts';
import { peerOf } from './peer-address.ts';
import { SAFE_HEADERS, type Guard } from './request-guard.ts';

/** How long a browser is known that has logged in. */
const KNOWN_FOR_S = 30 * 86_400;

/** Puts `SAFE_HEADERS` on every answer. */
export const safeHeaders: MiddlewareHandler<PageEnv> = async (c, next) => {
  await next();
  // An answer that came with headers that cannot be changed is copied by Hono.
  for (const [name, value] of Object.entries(SAFE_HEADERS)) c.header(name, value);
};

/** What every request has to pass before a page shows or does anything; then it is known who the visitor is. */
export function entrance(
  frame: Frame,
  guard: Guard,
  authorized: (request: Request, source?: string | null) => Promise<Verdict>,
): MiddlewareHandler<PageEnv> {
  const cookieOptions = (c: PageContext) =>
    ({
      path: frame.baseOf(c) === '' ? '/' : frame.baseOf(c),
      maxAge: KNOWN_FOR_S,
      httpOnly: true,
      sameSite: 'Lax',
      secure: new URL(c.req.url).protocol === 'https:',
    }) as const;

  return async (c, next) => {
    const peer = peerOf(c.env, c.req.raw);
    const forged = guard(c.req.raw, peer);
    if (forged !== null) return frame.problem(c, 403, 'Request from a different site', forged);
    const verdict = await authorized(c.req.raw, peer);
    if ('visitor' in verdict) {
      c.set('visitor', verdict.visitor);
      await next();
      if (verdict.known !== undefined) setCookie(c, KNOWN_COOKIE, verdict.known, cookieOptions(c));
      return;
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

/** The answer where no other route has one. */
export function noSuchScreen(frame: Frame): (c: PageContext) => Response | Promise<Response> {
  return (c) => frame.problem(c, 404, 'Not found', 'This page has no such screen or action.');
}
