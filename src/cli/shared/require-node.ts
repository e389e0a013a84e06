import { nodeTooOld } from '../../host/node-version.ts';

// Imported first by every command, so that a Node that is too old gets one line and no stack.
const tooOld = nodeTooOld();
if (tooOld !== null) {
  console.error(tooOld);
  process.exit(1);
}
