import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/hono';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });

const app = new Hono();
app.all('/webhooks', webhookHandler(receiver));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });
