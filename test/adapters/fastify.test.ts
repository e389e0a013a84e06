// @module-tag dear
import { fastify } from 'fastify';
import { webhookHandler } from '../../adapters/fastify.ts';
import { testHttpAdapter } from './conformance.ts';

testHttpAdapter('hookbox/fastify, registered under a prefix', async (receiver, { bodyReadBefore }) => {
  const app = fastify({ forceCloseConnections: true });
  if (bodyReadBefore === true) {
    app.addHook('onRequest', async ({ raw }) => {
      for await (const _ of raw);
    });
  }
  await app.register(webhookHandler(receiver), { prefix: '/shop/webhooks' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url: `${origin}/shop/webhooks`, [Symbol.asyncDispose]: () => app.close() };
});
