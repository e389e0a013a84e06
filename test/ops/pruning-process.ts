// node pruning-process.ts FILE: stores more events than the index takes in at once, prunes, and says so. Nothing else keeps it alive.
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { pruneEvents } from '../../src/ops/prune.ts';
import { severalIncoming } from '../helpers/incoming-event.ts';
import { store } from '../helpers/order-event.ts';

await using inbox = sqliteInbox(process.argv[2] ?? '');
await store(inbox, ...severalIncoming(450));
await pruneEvents(inbox, { settledBefore: new Date() }, { actor: 'ada' });
console.log('pruned');
