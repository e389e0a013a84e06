import { waitUntil } from '@vercel/functions';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/fetch';
import { memoryInbox } from 'hookbox/memory';

const receiver = createReceiver({
  secret: process.env.SIGNING_SECRET,
  inbox: memoryInbox({ ephemeral: true }),
  handlers: { '*': async (event) => console.log('handled', event.id) },
});

export const POST = webhookHandler(receiver, { waitUntil });
