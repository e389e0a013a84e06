import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import type { Server } from 'node:http';
import { webhookHandler } from '../../../adapters/hono.ts';
import { serveMeasured } from './measured.ts';

serveMeasured((receiver) => {
  const app = new Hono().all('/webhooks', webhookHandler(receiver));
  return createAdaptorServer({ fetch: app.fetch }) as Server;
});
