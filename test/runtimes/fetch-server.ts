import type * as adapter from '../../adapters/fetch.ts';
import type { HookboxParts } from '../adapters/receiver-under-test.ts';
import { receivers } from './receivers.ts';
import type { HookboxChecks } from './vector-check.ts';
import { VERIFIER_SECRET } from './verifier-secret.ts';

export function fetchServer(
  parts: HookboxParts & HookboxChecks,
  { webhookHandler, webhookVerifier }: typeof adapter,
): (request: Request, ...context: unknown[]) => Promise<Response> {
  const { handlerAt, control } = receivers(parts, (receiver, { bodyReadBefore }) => {
    const handler = webhookHandler(receiver);
    if (bodyReadBefore !== true) return handler;
    return async (request: Request, ...context: unknown[]) => {
      await request.arrayBuffer();
      return handler(request, ...context);
    };
  });
  const verified = webhookVerifier({ secret: VERIFIER_SECRET }, ({ event, body }) =>
    Response.json({ event, body: Buffer.from(body).toString('base64') }),
  );

  return async (request, ...context) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith('/control/')) return new Response(await control(pathname, await request.text()));
    if (pathname === '/verifier') return verified(request);
    const handler = handlerAt(pathname);
    return handler === undefined ? new Response(null, { status: 404 }) : handler(request, ...context);
  };
}
