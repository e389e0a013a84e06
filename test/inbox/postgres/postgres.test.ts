import type { Inbox } from '../../../src/inbox/contract.ts';
import { inboxesOnPostgres } from '../../helpers/postgres.ts';
import { testInbox } from '../conformance.ts';

const { empty } = inboxesOnPostgres();

testInbox('the inbox in Postgres', () => empty() as Inbox<never>);
