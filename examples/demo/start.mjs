// npm start: hookbox serve without handlers, set by the environment, on all addresses of this machine.
import '../../dist/src/cli/shared/require-node.js';
import { interruptWithReader, tell } from '../../dist/src/cli/shared/output.js';
import { serve } from '../../dist/src/cli/serve/run-server.js';

interruptWithReader();
try {
  const { PORT = '3000', HOOKBOX_DB: db = 'hookbox.db', SIGNING_SECRET: secret } = process.env;
  const port = Number(PORT);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`PORT must be a number from 0 to 65535, not ${JSON.stringify(PORT)}.`);
  }
  await serve({ port, portOption: 'PORT', path: '/webhooks', db, secret, output: 'compact' });
  process.exit(0);
} catch (failure) {
  tell(`hookbox cannot start: ${failure.message}`);
  process.exit(1);
}
