#!/usr/bin/env node
import { nodeTooOld } from '../host/node-version.ts';

const tooOld = nodeTooOld();
if (tooOld !== null) {
  process.stderr.write(`${tooOld}\n`);
  process.exit(1);
}
// Imported only now: a Node that is too old gets one line and no stack.
const { run } = await import('./program.ts');
await run(process.argv.slice(2));
