import { testSearch } from '../../ops/search.conformance.ts';
import { operatedInboxes } from './operators.ts';
import { searchedSchema } from './searched-schema.ts';

const schema = operatedInboxes();

testSearch('a search in Postgres', () => searchedSchema(schema()));
