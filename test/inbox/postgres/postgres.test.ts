import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxesOnPostgres } from '../../helpers/postgres.ts';
import { testInbox } from '../conformance.ts';

const open = inboxesOnPostgres();

testInbox('the inbox in Postgres', () => open() as Inbox<never>);
