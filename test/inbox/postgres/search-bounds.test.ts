// @module-tag longest
import { testSearchBounds } from '../../ops/search-bounds.conformance.ts';
import { operatedInboxes, searchedSchema } from './operators.ts';

const schema = operatedInboxes();

testSearchBounds('a search in Postgres', () => searchedSchema(schema()));
