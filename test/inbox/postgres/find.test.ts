import { testFindingByText } from '../../ops/find-by-text.conformance.ts';
import { testFinding } from '../../ops/find.conformance.ts';
import { testWaits } from '../../ops/waits.conformance.ts';
import { operatedInboxes } from './operators.ts';
import { searchedSchema } from './searched-schema.ts';

const schema = operatedInboxes();

testFinding('an event in Postgres', () => searchedSchema(schema()));
testFindingByText('events in Postgres', () => searchedSchema(schema()));
testWaits('why an event waits in Postgres', () => searchedSchema(schema()));
