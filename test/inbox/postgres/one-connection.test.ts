// @module-tag longest
import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxesOnPostgres } from '../../helpers/postgres.ts';
import { waitedFor } from '../../helpers/calls-under-way.ts';
import { testInline } from '../../processing/inline.conformance.ts';
import { testScope } from '../../processing/scope.conformance.ts';
import { testStoredAsRunning, testWorkQueue } from '../../processing/work-queue.conformance.ts';
import { testInbox } from '../conformance.ts';

// Code that waits for a second connection would wait for ever.
const { empty, another } = inboxesOnPostgres({ max: 1 });

const open = () => empty() as Inbox<never>;

testInbox('the inbox on a pool of one connection', open);
testWorkQueue('the work queue on a pool of one connection', open);
testStoredAsRunning('on a pool of one connection', open);
testScope('the work queue on a pool of one connection', open);
testInline('inline mode on a pool of one connection', () => ({
  inbox: waitedFor(open()),
  elsewhere: () => another() as Inbox<never>,
}));
