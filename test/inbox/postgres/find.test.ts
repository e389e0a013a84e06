import { testFinding } from '../../ops/find.conformance.ts';
import { operatedInboxes } from './operators.ts';
import { searchedSchema } from './searched-schema.ts';

const schema = operatedInboxes();

testFinding('an event in Postgres', () => searchedSchema(schema()));
