import { createAdaptorServer } from '@hono/node-server';
import type { Server } from 'node:http';
import { webhookHandler } from '../../../adapters/fetch.ts';
import { serveMeasured } from './measured.ts';

serveMeasured((receiver) => createAdaptorServer({ fetch: webhookHandler(receiver) }) as Server);
