import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { webhookVerifier } from 'hookbox/aws-lambda';

const sqs = new SQSClient();

export const handler = webhookVerifier({ secret: process.env.SIGNING_SECRET }, async ({ body, signature }) => {
  const MessageBody = JSON.stringify({ body: Buffer.from(body).toString(), signature });
  await sqs.send(new SendMessageCommand({ QueueUrl: process.env.QUEUE_URL, MessageBody }));
});
