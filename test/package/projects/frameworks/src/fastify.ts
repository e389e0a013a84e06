import { fastify, type FastifyInstance } from 'fastify';
import { isKnown, type Receiver } from 'hookbox';
import { pageHandler, webhookHandler, webhookVerifier } from 'hookbox/fastify';
import { opsPage } from 'hookbox/ops/page';

export async function app(receiver: Receiver): Promise<FastifyInstance> {
  const app = fastify();
  await app.register(webhookHandler(receiver), { prefix: '/webhooks' });
  await app.register(async (scope) => {
    await scope.register(webhookVerifier({ secret: process.env['SIGNING_SECRET'] }));
    scope.post('/checked', async ({ webhookEvent, webhookBody }) => {
      if (webhookEvent === undefined || !isKnown(webhookEvent)) return { size: webhookBody?.byteLength };
      return webhookEvent.type === 'order.created' ? { total: webhookEvent.data.total } : {};
    });
  });
  await app.register(pageHandler(opsPage(receiver, { unsafeOpen: true })), { prefix: '/ops' });
  await fastify({ http2: true }).register(webhookHandler(receiver));

  // @ts-expect-error -- a plugin is registered; it is no route
  app.post('/wrong', webhookHandler(receiver));
  return app;
}
