// @octokit/webhooks verifies and dispatches on node:http; it has no handlers here and stores nothing.
import { createServer } from 'node:http';
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks';
import { logger } from './shared/quiet-logger.ts';
import { listen } from './shared/report-port.ts';
import { secret } from '../load/signing-schemes.ts';

const middleware = createNodeMiddleware(new Webhooks({ secret }), { path: '/webhooks', log: logger });

listen(createServer((request, response) => void middleware(request, response)));
