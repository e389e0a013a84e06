import { createServer } from 'node:http';
import { webhookHandler } from '../../../adapters/node.ts';
import { serveMeasured } from './measured.ts';

serveMeasured((receiver) => {
  const handler = webhookHandler(receiver);
  return createServer((request, response) => void handler(request, response));
});
