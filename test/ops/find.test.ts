import { expect, it } from 'vitest';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { deadGroups, getEvent } from '../../src/ops/find.ts';
import { testFindingByText } from './find-by-text.conformance.ts';
import { testFinding } from './find.conformance.ts';
import { searchedFile } from './searched-store.ts';
import { testWaits } from './waits.conformance.ts';

testFinding('an event in SQLite', searchedFile);
testFindingByText('events in SQLite', searchedFile);
testWaits('why an event waits in SQLite', searchedFile);

it('an inbox that cannot be looked into says so', async () => {
  await using inbox = memoryInbox();
  const refusal = { name: 'ConfigurationError', code: 'INVALID_OPTION' };
  await expect(getEvent(inbox, { endpoint: 'default', id: 'evt' })).rejects.toMatchObject(refusal);
  await expect(deadGroups(inbox)).rejects.toMatchObject(refusal);
});
