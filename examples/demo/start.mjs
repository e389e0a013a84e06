// npm start: hookbox serve without handlers, set by the environment, on all addresses of this machine.
import { nodeTooOld } from '../../dist/src/host/node-version.js';

const tooOld = nodeTooOld();
if (tooOld !== null) {
  console.error(tooOld);
  process.exit(1);
}
// Imported only now: a Node that is too old gets one line and no stack.
const { interruptWithReader, tell } = await import('../../dist/src/cli/shared/output.js');
const { serve } = await import('../../dist/src/cli/serve/run-server.js');

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
