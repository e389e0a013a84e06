import type { Hono } from 'hono';
import { randomBytes } from 'node:crypto';
import { ConfigurationError, HookboxError, isError, nameOf } from '../../errors.ts';
import { loggerOf } from '../../host/logger.ts';
import { clearInterval, setInterval } from '../../host/real-timers.ts';
import { assertOptions, type RulesFor } from '../../option-rules.ts';
import { createFrame, type Frame, type PageContext } from '../../page/frame.tsx';
import { type PageOptions, PAGE_OPTIONS } from '../../page/page-options.ts';
import type { Look } from '../../page/layout.tsx';
import { liveStreams, type Changes } from '../../page/live-updates.ts';
import type { Screen } from '../../page/visit.ts';
import type { Sandbox } from '../create-sandbox.ts';
import { ApiError, SandboxClosedError } from '../errors.ts';
import { sandboxActs } from './acts.ts';
import { barOf } from './bar.tsx';
import { placeScreen, sendScreen } from './by-hand-screens.tsx';
import { clockScreen } from './clock-screen.tsx';
import { deliveriesScreen, deliveryScreen } from './deliveries-screens.tsx';
import { faultsScreen } from './faults-screen.tsx';
import { FormError, actRoutes, flashOf } from './forms.ts';
import { keysScreen } from './keys-screens.tsx';
import { boardScreen, orderScreen, ordersScreen } from './orders-screens.tsx';
import type { SandboxVisit } from './parts.tsx';
import { stockScreen } from './stock-screen.tsx';
import { webhookScreen, webhooksScreen } from './webhooks-screens.tsx';

/**
 * The sandbox's dashboard. Mount the dashboard in a Hono app or with an adapter's `pageHandler`.
 *
 * @module
 */

export type { Visitor } from '../../page/visit.ts';

/** The options of {@link sandboxPage}. */
export interface SandboxPageOptions extends PageOptions {
  /**
   * The address of the service that the examples show.
   *
   * @defaultValue the address of the dashboard without its path
   */
  readonly service?: string;
}

const OPTIONS: RulesFor<SandboxPageOptions> = { ...PAGE_OPTIONS, service: true };

/**
 * Creates the dashboard of a sandbox (sections 5.2, 6 and 6.4.4 of the service's interface). The dashboard shows and
 * changes API keys, webhook endpoints, deliveries, orders, stock, the clock and faults. It needs no JavaScript.
 *
 * Without `authorize`, `basic` or `bearer`, the dashboard accepts only direct connections from its own machine, under a
 * loopback name. Its server must pass the client's address, as @hono/node-server, Bun and Deno do.
 *
 * @param sandbox - a sandbox from `createSandbox`, which you close yourself
 * @throws ConfigurationError `INVALID_OPTION` for an invalid option
 * @example
 * ```ts
 * import { Hono } from 'hono';
 * import { createSandbox } from 'hookbox/sandbox';
 * import { sandboxPage } from 'hookbox/sandbox/page';
 *
 * const sandbox = createSandbox();
 * const app = new Hono().route('/dashboard', sandboxPage(sandbox));
 * app.all('*', (c) => sandbox.fetch(c.req.raw, c.env)); // serve({ fetch: app.fetch, port: 4000 }) of @hono/node-server
 * console.log((await app.request('http://localhost/dashboard')).status); // 403: the client's address is unknown
 * await sandbox.close();
 * ```
 */
export function sandboxPage(sandbox: Sandbox, options: SandboxPageOptions = {}): Hono {
  assertOptions('sandboxPage', options, OPTIONS);
  const { authorize, basic = [], bearer = [], title = 'sandbox', service } = options;
  const asks = authorize !== undefined || basic.length > 0 || bearer.length > 0;
  const live = liveStreams(watchVersion(sandbox), { until: sandbox.closing });
  const { unsafeOpen = !asks } = options;
  const framed = createFrame({ ...options, unsafeOpen }, { look: DASHBOARD_LOOK, flashOf, site: title, live });
  const frame: Frame = {
    ...framed,
    show: (c, screen) => framed.show(c, { ...screen, bar: barOf(visitOf(c)) }),
  };
  const { page } = frame;
  const logger = loggerOf(options.logger);

  const visitOf = (c: PageContext): SandboxVisit => {
    const visit = frame.visitOf(c);
    return {
      ...visit,
      sandbox,
      sight: randomBytes(12).toString('base64url'),
      now: sandbox.now(),
      service: service ?? visit.url.origin,
    };
  };

  page.onError((failure, c) => {
    const { status, title, sentence } = problemOf(failure);
    if (status === 500) logger.error({ error: nameOf(failure) }, 'the dashboard could not answer a request');
    return frame.problem(c, status, title, sentence);
  });

  const screens: Readonly<Record<string, (visit: SandboxVisit) => Screen>> = {
    '/': boardScreen,
    '/orders': ordersScreen,
    '/deliveries': deliveriesScreen,
    '/webhooks': webhooksScreen,
    '/keys': keysScreen,
    '/stock': stockScreen,
    '/clock': clockScreen,
    '/faults': faultsScreen,
    '/place-order': placeScreen,
    '/send-event': sendScreen,
  };
  for (const [path, screen] of Object.entries(screens)) page.get(path, (c) => frame.show(c, screen(visitOf(c))));

  const showOne = <One,>(
    path: string,
    what: string,
    find: (id: string) => One | null | undefined,
    screen: (visit: SandboxVisit, one: One) => Screen,
  ) =>
    page.get(path, (c) => {
      const one = find((c.req.param() as { readonly id: string }).id);
      if (one !== null && one !== undefined) return frame.show(c, screen(visitOf(c), one));
      return frame.problem(c, 404, 'Not found', `The sandbox has no ${what} with this id. It may have been removed.`);
    });
  showOne('/orders/:id', 'order', (id) => sandbox.orders.find(id), orderScreen);
  showOne('/deliveries/:id{[0-9]{1,15}}', 'delivery', (id) => sandbox.deliveries.find(Number(id)), deliveryScreen);
  showOne('/webhooks/:id', 'endpoint', (id) => sandbox.webhooks.list().find((one) => one.id === id), webhookScreen);

  actRoutes(sandboxActs(logger), frame, visitOf, refusedScreen);
  return frame.finished();
}

const FORM_SCREENS: Readonly<Record<string, (visit: SandboxVisit) => Screen>> = {
  '/webhooks': webhooksScreen,
  '/keys': keysScreen,
  '/clock/advance': clockScreen,
  '/faults': faultsScreen,
  '/delivery-faults': faultsScreen,
  '/faults/:id/remove': faultsScreen,
  '/delivery-faults/:id/remove': faultsScreen,
  '/place-order': placeScreen,
  '/send-event': sendScreen,
};

function refusedScreen(visit: SandboxVisit, failure: unknown): Screen | null {
  const screen = FORM_SCREENS[visit.sent?.to ?? '']?.(visit);
  const { status, sentence } = problemOf(failure);
  if (screen === undefined || status >= 500) return null;
  const content = (
    <>
      <p class="warning" role="alert" id="problem">
        <bdi>{sentence}</bdi>
      </p>
      {screen.content}
    </>
  );
  return { ...screen, status, content };
}

/** The text of an unexpected error is not shown, because it may quote secrets. */
function problemOf(failure: unknown) {
  const message = isError(failure) ? failure.message : '';
  if (failure instanceof SandboxClosedError) return { status: 503, title: 'Closed', sentence: message } as const;
  const isRefusal = failure instanceof FormError || failure instanceof ApiError;
  if (isRefusal || failure instanceof ConfigurationError) {
    const status = isRefusal ? failure.status : 400;
    return { status, title: 'Nothing was done', sentence: `${message} Nothing was done.` };
  }
  const unexpected = `The request failed with ${nameOf(failure)}. See the log for details.`;
  const sentence = failure instanceof HookboxError ? message : unexpected;
  return { status: 500, title: 'Request failed', sentence } as const;
}

const DASHBOARD_LOOK: Look = {
  navigation: [
    ['/', 'Orders', 'orders'],
    ['/deliveries', 'Deliveries', 'deliveries'],
    ['/webhooks', 'Webhooks', 'webhooks'],
    ['/keys', 'API keys', 'key'],
    ['/stock', 'Stock', 'stock'],
    ['/clock', 'Clock', 'clock'],
    ['/faults', 'Faults', 'faults'],
  ],
  keys: () => [
    ['j', 'next row'],
    ['k', 'previous row'],
    ['Enter', 'open the row'],
    ['?', 'show this list of keys'],
    ['Esc', 'close the dialog, or leave the field'],
  ],
  styles: ['page.css', 'sandbox.css'],
  footing(role) {
    const may = role === 'operator' ? 'an operator; you can do everything here.' : 'a viewer; you can only read.';
    return `${may} All times come from the sandbox clock.`;
  },
};

const EVERY_MS = 1_000;

function watchVersion({ version }: Pick<Sandbox, 'version'>): Changes<{ readonly version: number }> {
  return {
    listen(listener) {
      let seen = version();
      listener({ version: seen });
      const timer = setInterval(() => {
        const is = version();
        if (is === seen) return;
        seen = is;
        listener({ version: is });
      }, EVERY_MS);
      timer.unref();
      return () => clearInterval(timer);
    },
  };
}
