import { http } from '@google-cloud/functions-framework';
import { PubSub } from '@google-cloud/pubsub';
import { webhookVerifier } from 'hookbox/node';

const topic = new PubSub().topic(process.env.TOPIC ?? 'events');

http(
  'webhooks',
  webhookVerifier({ secret: process.env.SIGNING_SECRET }, async (request, response) => {
    const attributes = { signature: request.headers['x-signature'] };
    await topic.publishMessage({ data: Buffer.from(request.webhookBody), attributes });
    response.json({ received: true, id: request.webhookEvent.id });
  }),
);
