import { testNewestSeq, testStoredEvents } from '../../ops/stored-events.conformance.ts';
import { operatedInboxes } from './operators.ts';

const schema = operatedInboxes();

testStoredEvents('in Postgres', () => schema().open());
testNewestSeq('the newest seq in Postgres', () => schema().open());
