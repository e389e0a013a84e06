import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/fetch';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });

Bun.serve({
  port: process.env.PORT ?? 3000,
  routes: { '/webhooks': webhookHandler(receiver) },
});
