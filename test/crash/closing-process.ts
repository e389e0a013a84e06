/** A process whose handler does not listen, which closes when it is told to: for tests that kill it meanwhile. */
import { createInterface } from 'node:readline';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { createProcessor } from '../../src/processing/processor.ts';

const [file = ''] = process.argv.slice(2);
const processor = createProcessor({
  inbox: sqliteInbox(file),
  logger: false,
  processing: { leaseMs: 1_000 },
  handlers: {
    '*': () => {
      console.log('running');
      return new Promise(() => {});
    },
  },
});
createInterface({ input: process.stdin }).once('line', () => void processor.close());
await processor.start();
