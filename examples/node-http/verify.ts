import { createServer } from 'node:http';
import { isKnown } from 'hookbox';
import { webhookVerifier } from 'hookbox/node';

const verified = webhookVerifier({ secret: process.env.SIGNING_SECRET }, ({ webhookEvent: event }, response) => {
  if (isKnown(event) && event.type === 'order.created') console.log(event.data.total);
  response.end('{"received":true}');
});
createServer(verified).listen(process.env.PORT ?? 3000);
