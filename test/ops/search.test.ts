import { testSearch } from './search.conformance.ts';
import { searchedFile } from './searched-store.ts';

testSearch('a search in SQLite', searchedFile);
