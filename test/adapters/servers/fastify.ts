import { createServer, type RequestListener } from 'node:http';
import { fastify } from 'fastify';
import { webhookHandler } from '../../../adapters/fastify.ts';
import { serveMeasured } from './measured.ts';

serveMeasured((receiver) => {
  const server = createServer();
  const serverFactory = (listener: RequestListener) => server.on('request', listener);
  const app = fastify({ serverFactory });
  void app.register(webhookHandler(receiver), { prefix: '/webhooks' });
  void app.ready();
  return server;
});
