import fastify from 'fastify';
import { isKnown } from 'hookbox';
import { webhookVerifier } from 'hookbox/fastify';

const app = fastify();
await app.register(async (scope) => {
  await scope.register(webhookVerifier({ secret: process.env.SIGNING_SECRET }));
  scope.post('/webhooks', async ({ webhookEvent: event }) => {
    if (event !== undefined && isKnown(event) && event.type === 'order.created') console.log(event.data.total);
    return { received: true };
  });
});
await app.listen({ port: Number(process.env.PORT ?? 3000) });
