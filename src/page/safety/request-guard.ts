import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ConfigurationError } from '../../errors.ts';
import { isLoopbackAddress } from '../../host/loopback.ts';
import type { Visitor } from '../visit.ts';
import { usableSecret } from './authorization.ts';

/** With `no-referrer`, browsers would send `Origin: null` for the page's forms, as for forged ones. */
export const SAFE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const;

export type Guard = (request: Request, peer: string | null) => string | null;

/** The host names of the page. */
export interface GuardOptions {
  /**
   * The host names of the page, such as `ops.shop.example` or `10.0.0.7:8080`; a name without a port allows any port.
   * Set the host names if `authorize` decides by the address or network of a request. Otherwise, an attacker's site
   * whose name points to your server (DNS rebinding) could act from the address of a visitor, but without the cookies
   * and password of that visitor.
   *
   * @defaultValue an open page accepts only loopback names, and only direct connections from its own machine; a page
   * with a login accepts any name, but accepts a form only from a page under the same name
   */
  readonly hosts?: readonly string[];
}

/** Rejects requests under other names, embedded in another site, or sent by a form of another site. */
export function createGuard({ hosts }: GuardOptions, openToAll: boolean): Guard {
  const names = hosts?.map(readHost);
  if (names?.length === 0) throw invalid('not be empty. Name the hosts that serve the page, such as ops.shop.example.');

  const isOurs = (host: string): boolean =>
    names === undefined
      ? !openToAll || LOOPBACK.test(nameOf(host))
      : names.some(({ name, port }) => nameOf(host) === name && (port === null || portOf(host) === port));

  return (request, peer) => {
    const host = hostOf(request);
    if (host === null || !isOurs(host)) {
      return 'This page does not accept this host name. To allow the name, add it to the option hosts.';
    }
    // The client chooses the name: through 0.0.0.0, a remote client can send localhost.
    const far = openToAll ? notFromHere(request, peer) : null;
    if (far !== null) return far;
    const site = request.headers.get('sec-fetch-site');
    if (request.method === 'GET' || request.method === 'HEAD') return mayRead(request, site);
    if (site !== null && site !== 'same-origin') return ELSEWHERE;
    const origin = request.headers.get('origin');
    // At least one of these two headers shows the origin of a form.
    if (origin === null || origin === 'null') return site === 'same-origin' ? null : ELSEWHERE;
    const from = hostOfUrl(origin);
    // Another port of a name is another site. A proxy may use another name.
    const isNamed =
      from !== null &&
      names?.some(({ name, port }) => nameOf(from) === name && portOf(from) === (port ?? USUAL_PORT)) === true;
    return from === host || isNamed ? null : ELSEWHERE;
  };
}

const ELSEWHERE =
  'The request came from a different site, or your browser did not report which site sent it. Nothing was done.';

function mayRead({ headers }: Request, site: string | null): string | null {
  if (site === null || site === 'same-origin' || site === 'none') return null;
  const isLink = headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document';
  return isLink ? null : 'The request came from a different site. Open the page directly.';
}

/** Hosts without HTTP/1 have the name only in the URL. */
function hostOf({ headers, url }: Request): string | null {
  const sent = headers.get('host');
  return sent === null ? hostOfUrl(url) : hostOfUrl(`http://${sent}`, sent);
}

function hostOfUrl(url: string, sent?: string): string | null {
  try {
    const { host } = new URL(url);
    if (host === '') return null;
    return sent === undefined || /^[^/?#@\\]+$/.test(sent) ? host : null;
  } catch {
    return null;
  }
}

function readHost(text: string): { readonly name: string; readonly port: string | null } {
  const read = typeof text === 'string' && text.trim() !== '' ? hostOfUrl(`http://${text.trim()}`, text.trim()) : null;
  if (read === null) throw invalid(`contain host names such as ops.shop.example, not ${JSON.stringify(text)}.`);
  return { name: nameOf(read), port: /:\d+$/.test(text.trim()) ? portOf(read) : null };
}

function invalid(must: string): ConfigurationError {
  return new ConfigurationError('INVALID_OPTION', `hosts must ${must}`);
}

/** Names that always lead to this machine; some resolvers ask the network for `*.localhost`. */
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '');
}

/** URLs omit the usual port; a URL that is read as HTTP omits 80. */
const USUAL_PORT = '';

function portOf(host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1];
  return port === undefined || port === '443' ? USUAL_PORT : port;
}

/** Each server passes the address in another way: @hono/node-server the Node request, Bun its server, Deno the address. */
export function peerOf(env: unknown, request: Request): string | null {
  const host = serverIn(env);
  const askBun = field(host, 'requestIP');
  return (
    text(field(field(field(host, 'incoming'), 'socket'), 'remoteAddress')) ??
    text(typeof askBun === 'function' ? field(askBun.call(host, request), 'address') : undefined) ??
    text(field(field(host, 'remoteAddr'), 'hostname'))
  );
}

export function serverIn(env: unknown): unknown {
  return field(env, 'server') ?? env;
}

export function field(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? (of as Readonly<Record<string, unknown>>)[name] : undefined;
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

const PROXIED =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-(?:cluster-)?client-ip|true-client-ip|cf-connecting-ip)$/;

function notFromHere({ headers }: Request, peer: string | null): string | null {
  if (peer === null) {
    return (
      'This page has no login, so it answers only requests from the machine it runs on, but its server does not ' +
      'report the client address. ' +
      'Mount it with pageHandler of hookbox/express, hookbox/fastify or hookbox/node. Or serve it with ' +
      '@hono/node-server, Bun.serve or Deno.serve, and pass the second argument of fetch to the page. ' +
      'Or set authorize, basic or bearer.'
    );
  }
  const isProxied = [...headers.keys()].some((name) => PROXIED.test(name));
  if (isLoopbackAddress(peer) && !isProxied) return null;
  return (
    'This page has no login, so it answers only requests from the machine it runs on. To reach it from elsewhere or ' +
    'through a proxy, set authorize, basic or bearer.'
  );
}

export interface Tokens {
  readonly tokenFor: (visitor: Visitor) => string;
  readonly isTokenOf: (visitor: Visitor, token: unknown) => boolean;
}

/** A token is an HMAC of the visitor: other sites cannot read it, and other visitors cannot use it. */
export function csrfTokens(secret?: string): Tokens {
  const key = secret === undefined ? randomBytes(32) : usableSecret(secret, 'secret');
  const tokenFor = ({ role, name }: Visitor): string => {
    return createHmac('sha256', key).update(`hookbox page\n${role}\n${name}`).digest('base64url');
  };
  return {
    tokenFor,
    isTokenOf(visitor, token) {
      if (typeof token !== 'string') return false;
      const expected = Buffer.from(tokenFor(visitor));
      const given = Buffer.from(token);
      return given.byteLength === expected.byteLength && timingSafeEqual(given, expected);
    },
  };
}
