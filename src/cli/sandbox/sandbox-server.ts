import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { Sandbox } from '../../sandbox/index.ts';
import { CONTROL_PATH } from './control/address.ts';
import type { Control } from './control/control-path.ts';
import { DASHBOARD, dashboard } from './dashboard.ts';

/**
 * A server of the whole sandbox: what steers it, its page, and the service everywhere else.
 *
 * @param token - what who steers it sends
 */
export function sandboxServer(sandbox: Sandbox, token: string): Server {
  let control: Promise<Control> | undefined;
  // The first answer does not wait for what few ask for.
  const openControl = () =>
    (control ??= import('./control/control-path.ts').then(({ controlPath }) => controlPath(sandbox, token)));

  return createAdaptorServer({
    async fetch(request, env) {
      const path = new URL(request.url).pathname;
      if (path === CONTROL_PATH) return (await openControl())(request, env);
      if (path === DASHBOARD || path.startsWith(`${DASHBOARD}/`)) return dashboard();
      return sandbox.fetch(request, env);
    },
  }) as Server; // of HTTP/1, because no other was asked for
}
