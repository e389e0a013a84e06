/** An app of an older Hono: prints how it answers deliveries, and what the operators' page says, mounted in two ways. */
import { Hono } from 'hono4';
import { createReceiver, signBody } from 'hookbox';
import { pageHandler, webhookHandler, webhookVerifier } from 'hookbox/hono';
import { opsPage } from 'hookbox/ops/page';
import { sqliteInbox } from 'hookbox/sqlite';

const secret = 'a secret';
const inbox = sqliteInbox('hono.db');
const receiver = createReceiver({ secret, inbox });
const page = opsPage(receiver, { authorize: () => ({ role: 'viewer', name: 'ada' }) });

const app = new Hono();
app.all('/webhooks', webhookHandler(receiver));
app.post('/checked', webhookVerifier({ secret }), async (c) => {
  const { id } = await c.req.json();
  return c.text(`${id} ${c.var.webhookEvent.type}`);
});
app.route('/routed', page);
app.all('/handled/*', pageHandler(page));

const body = '{"id":"evt_1","type":"order.ready","created":"2026-01-01T00:00:00Z","data":{}}';
const headers = { 'X-Signature': signBody(body, secret) };
const asked = [
  ['/webhooks', { method: 'POST', body, headers }],
  ['/webhooks', { method: 'POST', body }],
  ['/webhooks', {}],
  ['/checked', { method: 'POST', body, headers }],
  ...['/routed', '/handled'].flatMap((base) => ['', '/events', '/assets/lists.js'].map((to) => [base + to, {}])),
];
const answers = [];
for (const [path, init] of asked) {
  const answer = await app.request(path, init);
  const text = await answer.text();
  const link = /href="([^"]*\/events)"/.exec(text)?.[1];
  answers.push([path, answer.status, link ?? (text.length < 100 ? text : undefined)]);
}
await receiver.close();
await inbox.close();
process.stdout.write(JSON.stringify(answers));
