// @module-tag long
import express, { type RequestHandler } from 'express';
import { webhookHandler } from '../../adapters/express.ts';
import { testHttpAdapter } from './conformance.ts';
import { serveNode } from './served-node.ts';

const every = { type: () => true, limit: '16mb', inflate: false };

const KEEPING: readonly (readonly [parser: string, parse: () => RequestHandler])[] = [
  ['express.raw()', () => express.raw(every)],
  [
    'express.text() with a verify function',
    () =>
      express.text({
        ...every,
        verify: (request, _response, bytes) => void Object.assign(request, { rawBody: bytes }),
      }),
  ],
];

for (const [parser, parse] of KEEPING) {
  testHttpAdapter(
    `hookbox/express, behind ${parser}`,
    async (receiver, { bodyReadBefore }) => {
      const app = express();
      app.use(bodyReadBefore === true ? express.json() : parse());
      app.all('/webhooks', webhookHandler(receiver));
      const served = await serveNode(app);
      return { ...served, url: new URL('/webhooks', served.url).href };
    },
    {
      'bodies as they arrive': `${parser} reads the whole body first`,
      'encoded bodies': `${parser} answers 415 itself`,
    },
  );
}
