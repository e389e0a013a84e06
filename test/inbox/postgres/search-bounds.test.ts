import { testSearchBounds } from '../../ops/search-bounds.conformance.ts';
import { operatedInboxes } from './operators.ts';
import { searchedSchema } from './searched-schema.ts';

const schema = operatedInboxes();

testSearchBounds('a search in Postgres', () => searchedSchema(schema()));
