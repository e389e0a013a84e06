import type { Context } from 'hono';
import { basePath } from 'hono/route';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Tokens } from './safety/csrf.ts';
import { flashOf } from './acts/flash.ts';
import { Layout, PlainPage } from './layout.tsx';
import type { NamedInbox } from '../host/shell-words.ts';
import type { Mask } from '../ops/body/mask.ts';
import type { Operated, Screen, Visit, Visitor } from './visit.ts';

/** What the guard leaves for the route that answers the request. */
export interface PageEnv {
  readonly Variables: {
    /** only set for those who were let in */
    visitor: Visitor;
    /** only set when it came from the page's own form */
    form: FormData;
  };
}

export type PageContext = Context<PageEnv>;

export interface ShellParts {
  readonly operated: Operated;
  readonly tokens: Tokens;
  readonly mask: Mask;
  /** how the page calls itself */
  readonly site: string;
  /** the path that browsers see it at, where the router is not told */
  readonly base: string | undefined;
  /** as commands name the inbox, where the page is told */
  readonly named: NamedInbox;
}

/** What all routes of the page share: who asks, and how a screen becomes an answer. */
export interface Shell extends Pick<ShellParts, 'operated' | 'tokens' | 'mask'> {
  /** @throws Error where the guard was not asked: such a route shows nothing */
  readonly visitOf: (c: PageContext) => Visit;
  readonly baseOf: (c: PageContext) => string;
  readonly show: (c: PageContext, screen: Screen) => Promise<Response>;
  /** A page that says what is wrong, within the layout for those who were let in. */
  readonly problem: (
    c: PageContext,
    status: ContentfulStatusCode,
    title: string,
    sentence: string,
  ) => Promise<Response>;
}

export function createShell({ operated, tokens, mask, site, base, named }: ShellParts): Shell {
  const baseOf = (c: PageContext): string => base ?? mountedAt(c);

  const visitOf = (c: PageContext): Visit => {
    const visitor = letIn(c);
    if (visitor === undefined) throw new Error('a route of the page was not guarded');
    return {
      operated,
      visitor,
      base: baseOf(c),
      csrf: tokens.tokenFor(visitor),
      url: new URL(c.req.url),
      now: new Date(),
      signal: c.req.raw.signal,
      mask: mask.mask,
      masks: mask.masks,
      refusal: mask.refusal,
      liveOnly: c.req.header('hookbox-live') !== undefined,
      named,
    };
  };

  const framed = (
    c: PageContext,
    status: Parameters<typeof answer>[1],
    framing: Omit<Parameters<typeof Layout>[0], 'base' | 'site'>,
  ) => answer(c, status, <Layout base={baseOf(c)} site={site} {...framing} />);

  const show: Shell['show'] = async (c, { title, status = 200, current, content }) => {
    const { visitor, url } = visitOf(c);
    const shown = await content;
    return framed(c, status, { title, current, visitor, flash: flashOf(url), content: shown });
  };

  const problem: Shell['problem'] = async (c, status, title, sentence) => {
    const visitor = letIn(c);
    if (visitor === undefined) return answer(c, status, <PlainPage title={title} sentence={sentence} />);
    const content = (
      <>
        <p class="warning" role="alert">
          <bdi>{sentence}</bdi>
        </p>
        <p>
          <a href={baseOf(c) === '' ? '/' : baseOf(c)}>To the overview</a>
        </p>
      </>
    );
    return framed(c, status, { title, current: null, visitor, flash: null, content });
  };

  return { operated, tokens, mask, visitOf, baseOf, show, problem };
}

/** Hono types what a guard sets as if it were always set. */
function letIn(c: PageContext): Visitor | undefined {
  return c.get('visitor');
}

async function answer(c: PageContext, status: ContentfulStatusCode, page: { toString(): unknown }): Promise<Response> {
  const html = await page.toString();
  return c.html(`<!doctype html>${String(html)}`, status);
}

/**
 * Where the router has found the page, without a slash at the end. It begins with one slash only, because two would make links
 * that lead to another host; and characters that a path cannot have are escaped.
 */
function mountedAt(c: PageContext): string {
  const path = basePath(c).replace(/\/+$/, '').replace(/^\/+/, '/');
  return path.replaceAll(/[^\w.~!$&'()*+,;=:@%/-]/g, encodeURIComponent);
}
