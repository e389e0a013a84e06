import { webhookHandler } from '../../adapters/express.ts';
import { testHttpAdapter } from './conformance.ts';
import type { ExpressModule } from './express-app.ts';
import { serveNode } from './served-node.ts';

export function testExpress(name: string, load: () => ExpressModule): void {
  testHttpAdapter(`hookbox/express, in a router of ${name}`, async (receiver, { bodyReadBefore }) => {
    const express = load();
    const app = express();
    if (bodyReadBefore === true) app.use(express.json());
    app.use('/shops/:shop', express.Router().all('/webhooks', webhookHandler(receiver)));
    const served = await serveNode(app);
    return { ...served, url: new URL('/shops/7/webhooks', served.url).href };
  });
}
