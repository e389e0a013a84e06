import { Hono } from 'hono';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { sandboxPage } from '../../src/sandbox/page/sandbox-page.tsx';
import { serveApp } from '../adapters/served-app.ts';

export interface SandboxSite extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly origin: string;
  readonly shop: string;
  readonly mend: () => void;
}

export async function sandboxSite(options: SandboxOptions = {}): Promise<SandboxSite> {
  await using opened = new AsyncDisposableStack();
  const sandbox = opened.use(createSandbox(options));
  let status = 500;
  const shop = opened.use(await serveApp({ fetch: () => new Response(null, { status }) }));
  const app = new Hono().route('/dashboard', sandboxPage(sandbox));
  app.all('*', (c) => sandbox.fetch(c.req.raw, c.env));
  const served = opened.use(await serveApp(app));
  const kept = opened.move();
  return {
    sandbox,
    origin: new URL(served.url).origin,
    shop: shop.url,
    mend: () => void (status = 200),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

export async function orderFromOutside({ origin }: SandboxSite, key: string, customer: object = {}): Promise<string> {
  const answer = await fetch(`${origin}/order`, {
    method: 'POST',
    headers: { Authorization: key, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      customer,
      items: [{ product_id: 'prod_country_loaf', quantity: 1 }],
      location_id: 'loc_bakery_pier',
      fulfillment_method: 'Pickup',
    }),
  });
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { readonly data: { readonly id: string } }).data.id;
}
