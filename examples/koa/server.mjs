import Koa from 'koa';
import { createReceiver } from 'hookbox';
import { webhookHandler } from 'hookbox/node';
import { sqliteInbox } from 'hookbox/sqlite';

const inbox = sqliteInbox(process.env.HOOKBOX_DB ?? 'hookbox.db');
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });
const handle = webhookHandler(receiver);

const app = new Koa();
app.use(async (ctx, next) => {
  if (ctx.path !== '/webhooks') return next();
  ctx.respond = false; // hookbox answers
  await handle(ctx.req, ctx.res);
});
// a body parser, and everything else, comes after it
app.listen(process.env.PORT ?? 3000);
