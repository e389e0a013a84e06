// @octokit/webhooks verifies and dispatches on node:http; it has no handlers here and stores nothing.
import { createServer } from 'node:http';
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks';
import { logger } from '../quiet-logger.ts';
import { listen } from '../report-port.ts';
import { secret } from '../signing-schemes.ts';

const middleware = createNodeMiddleware(new Webhooks({ secret }), { path: '/webhooks', log: logger });

listen(createServer((request, response) => void middleware(request, response)));
