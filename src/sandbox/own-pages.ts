import type { Hono } from 'hono';
import type { Logger } from '../host/logger.ts';
import type { Assumptions } from './assumptions.ts';
import { isForInterface } from './openapi/interface-request.ts';
import type { Store } from './store.ts';

type Page = Pick<Hono, 'fetch'>;

/**
 * What a sandbox answers besides the service, or `undefined` for what is the service's: the page of a checkout, and the
 * description of the interface. Loaded when somebody looks: few do, and a sandbox begins sooner without.
 */
export function ownPages(
  store: Store,
  assumptions: Assumptions,
  logger: Logger,
): (request: Request) => Promise<Page> | undefined {
  let checkout: Promise<Page> | undefined;
  let described: Promise<Page> | undefined;
  return (request) => {
    if (isForInterface(request)) {
      return (described ??= import('./openapi/interface-routes.tsx').then(({ createInterface }) =>
        createInterface(assumptions, logger),
      ));
    }
    if (!new URL(request.url).pathname.startsWith('/checkout/')) return undefined;
    return (checkout ??= import('./checkout.tsx').then(({ createCheckout }) =>
      createCheckout(store, assumptions, logger),
    ));
  };
}
