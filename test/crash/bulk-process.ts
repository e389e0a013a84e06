// A process that runs a bulk as fast as it can and will be killed: node bulk-process.ts <file> <bulk> <batches>
// It writes how far it is after each batch, and stands still after so many: it must not be done before a slow machine
// comes to kill it.
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { runBulk } from '../../src/ops/bulks.ts';

// Who is killed keeps nothing of what Node has compiled for the next one, unless it does so now.
flushCompileCache();

const [file = '', bulk = '', batches = 'Infinity'] = process.argv.slice(2);

let left = Number(batches);

await using inbox = sqliteInbox(file);
const { state } = await runBulk(
  inbox,
  Number(bulk),
  { actor: 'ada' },
  {
    ratePerSecond: Infinity,
    onProgress({ worked }) {
      writeSync(1, `${worked}\n`);
      left -= 1;
      if (left === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    },
  },
);
writeSync(1, `${state}\n`);
