import { expect, it } from 'vitest';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { listEvents } from '../../src/ops/find.ts';
import { testSearch } from './search.conformance.ts';
import { searchedFile } from './searched-store.ts';

testSearch('a search in SQLite', searchedFile);

it('an inbox that cannot be looked into says so', async () => {
  await using inbox = memoryInbox();
  await expect(listEvents(inbox)).rejects.toMatchObject({ code: 'INVALID_OPTION' });
});
