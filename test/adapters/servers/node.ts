/** A receiver behind `hookbox/node` in a process of its own, so that its memory can be measured. */
import { createServer } from 'node:http';
import { webhookHandler } from '../../../adapters/node.ts';
import { serveMeasured } from './measured.ts';

serveMeasured((receiver) => {
  const handler = webhookHandler(receiver);
  return createServer((request, response) => void handler(request, response));
});
