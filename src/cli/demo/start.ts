import '../shared/require-node.ts';
import { messageOf } from '../../errors.ts';
import { interruptWithReader, tell } from '../shared/output.ts';
import { serve } from '../serve/run-server.ts';

/** `npm start`: `hookbox serve` without handlers, set by the environment, reachable from everywhere. */
async function start(): Promise<void> {
  await serve({
    port: portOf(process.env['PORT'] ?? '3000'),
    portOption: 'PORT',
    path: '/webhooks',
    db: process.env['HOOKBOX_DB'] ?? 'hookbox.db',
    secret: process.env['SIGNING_SECRET'],
    output: 'compact',
  });
  process.exit(0);
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new Error(`PORT must be a number from 0 to 65535, not ${JSON.stringify(text)}.`);
}

interruptWithReader();
try {
  await start();
} catch (failure) {
  tell(`hookbox cannot start: ${messageOf(failure)}`);
  process.exit(1);
}
