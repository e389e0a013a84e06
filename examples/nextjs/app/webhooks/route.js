import { webhookHandler } from 'hookbox/fetch';
import { theReceiver } from '../../lib/receiver.js';

export const runtime = 'nodejs';

export function POST(request) {
  return webhookHandler(theReceiver())(request);
}
