import { createServer } from 'node:http';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/node';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });
const handle = webhookHandler(receiver);

const server = createServer((request, response) => {
  if (request.url.split('?')[0] === '/webhooks') return handle(request, response);
  response.writeHead(404).end();
});
server.listen(process.env.PORT ?? 3000);
