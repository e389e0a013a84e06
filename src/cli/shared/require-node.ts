import { nodeTooOld } from '../../host/node-version.ts';

// Each command imports this file first, so that an outdated Node prints one line and no stack.
const tooOld = nodeTooOld();
if (tooOld !== null) {
  console.error(tooOld);
  process.exit(1);
}
