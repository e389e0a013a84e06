import { isIPv4 } from 'node:net';

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
export function notFromHere({ headers }: Request, peer: string | null): string | null {
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
