import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/fetch';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });
const handle = webhookHandler(receiver);

Deno.serve({ port: Number(process.env.PORT ?? 3000) }, (request) => {
  if (new URL(request.url).pathname === '/webhooks') return handle(request);
  return new Response(null, { status: 404 });
});
