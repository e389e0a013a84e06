import type { Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { Sandbox } from '../../sandbox/index.ts';
import { CONTROL_PATH } from './control/address.ts';
import type { Control } from './control/control-path.ts';

/** Where the dashboard is, beneath the address of the sandbox. */
export const DASHBOARD = '/dashboard';

/**
 * Has a server answer as the whole sandbox: what steers it, its page, and the service everywhere else.
 *
 * @param token - what who steers it sends
 */
export function answerWith(server: Server, sandbox: Sandbox, token: string): void {
  let control: Promise<Control> | undefined;
  let dashboard: Promise<Hono> | undefined;
  // The first answer does not wait for what few ask for.
  const openControl = () =>
    (control ??= import('./control/control-path.ts').then(({ controlPath }) => controlPath(sandbox, token)));
  // Without a login it is for this machine alone, also where the service is for others.
  const openDashboard = () =>
    (dashboard ??= import('../../sandbox/page/sandbox-page.tsx').then(({ sandboxPage }) =>
      new Hono().route(DASHBOARD, sandboxPage(sandbox)),
    ));

  const listener = getRequestListener(async (request, env) => {
    const path = new URL(request.url).pathname;
    if (path === CONTROL_PATH) return (await openControl())(request, env);
    if (path === DASHBOARD || path.startsWith(`${DASHBOARD}/`)) return (await openDashboard()).fetch(request, env);
    return sandbox.fetch(request, env);
  });
  server.on('request', (incoming, outgoing) => void listener(incoming, outgoing));
}
