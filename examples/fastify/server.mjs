import fastify from 'fastify';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/fastify';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });

const app = fastify();
await app.register(webhookHandler(receiver), { prefix: '/webhooks' });
await app.listen({ port: Number(process.env.PORT ?? 3000) });
