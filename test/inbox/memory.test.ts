import { expect, it } from 'vitest';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { testInbox } from './conformance.ts';
import { incoming, later } from '../helpers/incoming-event.ts';

testInbox('the inbox in memory', memoryInbox);

it('shares nothing with another inbox in memory', async () => {
  await using one = memoryInbox();
  await using other = memoryInbox();
  await one.accept(incoming(), later());
  expect(await other.list()).toEqual([]);
});
