// @hookflo/tern as its README mounts it on Node: its middleware on Express, without a body parser before it. Lemon
// Squeezy's scheme is ours: X-Signature with the hexadecimal HMAC-SHA256 of the body. It stores nothing.
import { createServer } from 'node:http';
import { createWebhookMiddleware } from '@hookflo/tern/express';
import express from 'express';
import { answer } from './shared/bare-answer.ts';
import { listen } from './shared/report-port.ts';
import { secret } from '../load/signing-schemes.ts';

const app = express();
app.post('/webhooks', createWebhookMiddleware({ platform: 'lemonsqueezy', secret }), (_request, response) => {
  response.type('json').send(answer);
});

listen(createServer(app));
