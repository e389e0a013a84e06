/** A server with all that a bundler may lose: threads, the page's files, the version, the bodies of `buildEvent`. */
import { createServer } from 'node:http';
import { createReceiver } from 'hookbox';
import { pageHandler, webhookHandler } from 'hookbox/node';
import { backup, metrics } from 'hookbox/ops';
import { opsPage } from 'hookbox/ops/page';
import { sqliteInbox } from 'hookbox/sqlite';
import { buildEvent } from 'hookbox/testing';

const file = process.env.HOOKBOX_DB;
const inbox = sqliteInbox(file);
const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox });
const take = webhookHandler(receiver);
const basic = [{ user: 'operator', password: process.env.OPS_PASSWORD, role: 'operator' }];
const showPage = pageHandler(opsPage(receiver, { basic }));

const routes = {
  '/backup': async () => JSON.stringify(await backup(inbox, `${file}.copy`, { actor: 'ada' })),
  '/metrics': async () => (await metrics(inbox)).text,
  '/event': async () => JSON.stringify(buildEvent('order.created')),
};

createServer(async (request, response) => {
  const path = request.url.split('?')[0];
  if (path === '/webhooks') return take(request, response);
  if (path.startsWith('/ops')) return showPage(request, response);
  return response.end(await routes[path]());
}).listen(process.env.PORT);
