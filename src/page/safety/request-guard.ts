import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { ConfigurationError } from '../../errors.ts';
import type { Visitor } from '../visit.ts';
import { usableSecret } from './authorization.ts';

/**
 * What every answer carries. Only the page's own two files run as script and style, nothing frames the page, no other
 * site reads it, and nothing of it is kept by a cache.
 *
 * The referrer goes to the page itself only. With `no-referrer` browsers would send `Origin: null` with the page's own
 * forms, and where they send no Sec-Fetch-Site either (plain HTTP beyond loopback) they could not be told from forged
 * ones.
 */
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

/**
 * Why a request cannot come from the page's own forms and links; `null` when it may go on.
 *
 * @param peer - the address that its connection comes from; `null` where it is not known
 */
export type Guard = (request: Request, peer: string | null) => string | null;

/** The names of the page. */
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

/**
 * Refuses requests that come from elsewhere: under a name that is not the page's (a site whose name was made to point
 * here), embedded in another site, or sent by another site's form.
 *
 * @param openToAll - whether all who can reach the page are let in
 * @throws ConfigurationError for hosts that no browser would send
 */
export function createGuard({ hosts }: GuardOptions, openToAll: boolean): Guard {
  const names = hosts?.map(readHost);
  if (names?.length === 0)
    throw new ConfigurationError(
      'INVALID_OPTION',
      'hosts must not be empty. Name the hosts that serve the page, such as ops.shop.example.',
    );

  const isOurs = (host: string): boolean => {
    if (names !== undefined) return names.some((name) => matches(name, host));
    return !openToAll || isLoopback(host);
  };

  return (request, peer) => {
    const host = hostOf(request);
    if (host === null || !isOurs(host)) {
      return 'This page does not accept this host name. To allow the name, add it to the option hosts.';
    }
    // The name is the client's word: through 0.0.0.0 anybody can say localhost.
    const far = openToAll ? notFromHere(request, peer) : null;
    if (far !== null) return far;
    const site = request.headers.get('sec-fetch-site');
    if (request.method === 'GET' || request.method === 'HEAD') return mayRead(request, site);
    if (site !== null && site !== 'same-origin') return ELSEWHERE;
    const origin = request.headers.get('origin');
    // Either says where a form came from, and one of them has to.
    if (origin === null || origin === 'null') return site === 'same-origin' ? null : ELSEWHERE;
    const from = hostOfUrl(origin);
    // Another port of a name is another site. Behind a proxy the page's own name may be another than what it is asked
    // under.
    const isNamed = from !== null && (names ?? []).some((name) => isExactly(name, from));
    return from === host || isNamed ? null : ELSEWHERE;
  };
}

const ELSEWHERE =
  'The request came from a different site, or your browser did not report which site sent it. Nothing was done.';

/** Links from elsewhere may lead here; other sites have no business to embed or fetch what is here. */
function mayRead({ headers }: Request, site: string | null): string | null {
  if (site === null || site === 'same-origin' || site === 'none') return null;
  const isLink = headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document';
  return isLink ? null : 'The request came from a different site. Open the page directly.';
}

/** As the client has sent it; requests of tests and of hosts without HTTP/1 have it in the URL only. */
function hostOf({ headers, url }: Request): string | null {
  const sent = headers.get('host');
  return sent === null ? hostOfUrl(url) : hostOfUrl(`http://${sent}`, sent);
}

/** The lowercase name and port; `null` when `sent` was more than these. */
function hostOfUrl(url: string, sent?: string): string | null {
  try {
    const { host } = new URL(url);
    if (host === '') return null;
    return sent === undefined || /^[^/?#@\\]+$/.test(sent) ? host : null;
  } catch {
    return null;
  }
}

interface HostName {
  readonly name: string;
  /** `null` for any */
  readonly port: string | null;
}

function readHost(text: string): HostName {
  const read = typeof text === 'string' && text.trim() !== '' ? hostOfUrl(`http://${text.trim()}`, text.trim()) : null;
  if (read === null) {
    const shown = JSON.stringify(text);
    throw new ConfigurationError(
      'INVALID_OPTION',
      `hosts must contain host names such as ops.shop.example, not ${shown}.`,
    );
  }
  return { name: nameOf(read), port: /:\d+$/.test(text.trim()) ? portOf(read) : null };
}

function matches({ name, port }: HostName, host: string): boolean {
  return nameOf(host) === name && (port === null || portOf(host) === port);
}

function isExactly({ name, port }: HostName, origin: string): boolean {
  return nameOf(origin) === name && portOf(origin) === (port ?? USUAL_PORT);
}

/** Names that lead to this machine without asking anybody; not `*.localhost`, which some resolvers ask the network for. */
function isLoopback(host: string): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(nameOf(host));
}

function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '');
}

/** What a URL and a browser leave out; 80 is left out already. */
const USUAL_PORT = '';

function portOf(host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1];
  return port === undefined || port === '443' ? USUAL_PORT : port;
}

/**
 * The address that the connection of a request comes from; `null` where the host does not say. Each server tells an app
 * in its own way, as the second argument of `fetch`: @hono/node-server gives the Node request, Bun its server, Deno the
 * address.
 *
 * @param env - what the host has given along with the request
 */
export function peerOf(env: unknown, request: Request): string | null {
  const told = toldBy(env);
  return (
    text(field(field(field(told, 'incoming'), 'socket'), 'remoteAddress')) ??
    text(field(askedBun(told, request), 'address')) ??
    text(field(field(told, 'remoteAddr'), 'hostname'))
  );
}

/** What a host tells of a request. Some are wrapped: their own things stand under `server` then. */
export function toldBy(env: unknown): unknown {
  return field(env, 'server') ?? env;
}

/** Bun finds the connection by the request. */
function askedBun(server: unknown, request: Request): unknown {
  const ask = field(server, 'requestIP');
  return typeof ask === 'function' ? (ask.call(server, request) as unknown) : undefined;
}

export function field(of: unknown, name: string): unknown {
  return typeof of === 'object' && of !== null ? (of as Readonly<Record<string, unknown>>)[name] : undefined;
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Whether an address leads from this machine to itself; also as IPv6 writes those of IPv4. */
export function isLoopbackAddress(address: string): boolean {
  if (address === '::1') return true;
  const mapped = /^::ffff:(.+)$/i.exec(address)?.[1] ?? address;
  if (mapped !== address && /^7f[\da-f]{2}:[\da-f]{1,4}$/i.test(mapped)) return true;
  return isIPv4(mapped) && mapped.startsWith('127.');
}

/** What proxies say of themselves or of whom they speak for; one that says nothing cannot be told from its own machine. */
const PROXIED =
  /^(?:forwarded|via|x-forwarded(?:-.*)?|x-real-ip|x-(?:cluster-)?client-ip|true-client-ip|cf-connecting-ip)$/;

/** Why a request does not come from this machine itself; `null` when it does. */
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

/** Makes and checks the tokens that every form of the page sends back. */
export interface Tokens {
  readonly tokenFor: (visitor: Visitor) => string;
  readonly isTokenOf: (visitor: Visitor, token: unknown) => boolean;
}

/**
 * A token is an HMAC of who the visitor is: another site cannot read it out of the page, and one visitor's is of no use to
 * another. Nothing is stored, and no cookie is needed.
 *
 * @param secret - the key; random unless given, so a form that was open while the process restarted has to be reloaded. Where
 * several processes serve one page they need the same.
 * @throws ConfigurationError for a secret that anybody could guess
 */
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
