// @hookflo/tern as its README mounts it on Node: its middleware on Express, without a body parser before it. Lemon
// Squeezy's scheme is ours: X-Signature with the hexadecimal HMAC-SHA256 of the body. It stores nothing.
import { createServer } from 'node:http';
import { createWebhookMiddleware } from '@hookflo/tern/express';
import express from 'express';
import { answer } from '../bare-answer.ts';
import { listen } from '../report-port.ts';
import { secret } from '../signing-schemes.ts';

const app = express();
app.post('/webhooks', createWebhookMiddleware({ platform: 'lemonsqueezy', secret }), (_request, response) => {
  response.type('json').send(answer);
});

listen(createServer(app));
