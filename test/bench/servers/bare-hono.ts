// What the merchant's framework costs by itself: Hono on Node reads the body and answers.
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { answer } from './shared/bare-answer.ts';
import { reportPort } from './shared/report-port.ts';

const app = new Hono();
app.post('/webhooks', async (c) => {
  await c.req.arrayBuffer();
  return c.body(answer, 200, { 'content-type': 'application/json' });
});
app.get('/health', (c) => c.text('well'));

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => reportPort(port));
