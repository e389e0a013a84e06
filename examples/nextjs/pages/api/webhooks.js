import { webhookHandler } from 'hookbox/node';
import { theReceiver } from '../../lib/receiver.js';

export const config = { api: { bodyParser: false } };

export default function handler(request, response) {
  return webhookHandler(theReceiver())(request, response);
}
