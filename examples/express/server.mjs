import express from 'express';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/express';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });

const app = express();
app.all('/webhooks', webhookHandler(receiver));
app.use(express.json()); // for the routes after it
app.listen(process.env.PORT ?? 3000);
