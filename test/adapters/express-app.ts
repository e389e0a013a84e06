import express, { type Express, type RequestHandler } from 'express';
import { webhookHandler, webhookVerifier } from '../../adapters/express.ts';
import { createReceiver, type Inbox } from '../../src/index.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { everything } from '../helpers/times.ts';
import { requirePart } from '../helpers/parts.ts';
import { recordedLog, type LogLine } from '../helpers/recorded-log.ts';
import { DEADLINE_MS } from './after-others.ts';
import { serveNode, type ServedNode } from './served-node.ts';
import { SECRET } from '../helpers/signed-event.ts';

export type ExpressModule = typeof express;

/** Express 4 comes with test/parts. */
export const EXPRESSES: readonly (readonly [name: string, load: () => ExpressModule])[] = [
  ['Express 5', () => express],
  ...(everything ? ([['Express 4', () => requirePart('express4') as ExpressModule]] as const) : []),
];

export interface ServedExpress extends ServedNode {
  readonly inbox: Inbox;
  readonly log: readonly LogLine[];
  /** What reached the app's error handler, which answers 599. */
  readonly failed: readonly unknown[];
}

export async function serveExpress(app: Express): Promise<Pick<ServedExpress, 'url' | 'failed'> & ServedNode> {
  const failed: unknown[] = [];
  // Express tells an error handler by its four parameters.
  app.use((failure: unknown, _request: unknown, response: express.Response, _next: unknown) => {
    failed.push(failure);
    response.status(599).send('the error handler of the app');
  });
  return { ...(await serveNode(app)), failed };
}

export async function serveBehind(
  express: ExpressModule,
  before: RequestHandler,
  { what = 'handler' }: { what?: 'handler' | 'verifier' } = {},
): Promise<ServedExpress> {
  const { logger, lines } = recordedLog();
  const inbox = memoryInbox();
  const options = { secret: SECRET, deadlineMs: DEADLINE_MS, logger };
  const app = express().use(before);
  if (what === 'handler') app.all('/webhooks', webhookHandler(createReceiver({ ...options, inbox })));
  else {
    app.all('/webhooks', webhookVerifier(options), ({ webhookEvent }, response) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ received: true, duplicate: false, id: webhookEvent?.id }));
    });
  }
  return { ...(await serveExpress(app)), inbox, log: lines };
}
