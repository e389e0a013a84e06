import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { webhookVerifier } from 'hookbox/fetch';

const sqs = new SQSClient();

export default webhookVerifier({ secret: process.env.SIGNING_SECRET }, async ({ id, body, signature }) => {
  const MessageBody = JSON.stringify({ body: Buffer.from(body).toString(), signature });
  await sqs.send(new SendMessageCommand({ QueueUrl: process.env.QUEUE_URL, MessageBody }));
  return Response.json({ received: true, id });
});

export const config = { path: '/webhooks' };
