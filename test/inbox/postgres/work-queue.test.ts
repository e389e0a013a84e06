import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxesOnPostgres } from '../../helpers/postgres.ts';
import { testScope } from '../../processing/scope.conformance.ts';
import { testWorkQueue } from '../../processing/work-queue.conformance.ts';

const open = inboxesOnPostgres();

testWorkQueue('the work queue in Postgres', () => open() as Inbox<never>);
testScope('the work queue in Postgres', () => open() as Inbox<never>);
