// @octokit/webhooks verifies and dispatches on node:http; it has no handlers here and stores nothing.
import { createServer } from 'node:http';
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks';
import { listen } from '../report-port.ts';
import { secret } from '../signing-schemes.ts';

listen(createServer(createNodeMiddleware(new Webhooks({ secret }), { path: '/webhooks' })));
