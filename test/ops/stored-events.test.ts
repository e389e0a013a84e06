import { describe, expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { StoredEvent } from '../../src/inbox/event.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { newestSeq } from '../../src/ops/stored-events.ts';
import { later, severalIncoming } from '../helpers/incoming-event.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { testNewestSeq, testStoredEvents } from './stored-events.conformance.ts';

async function inboxWith(count: number): Promise<Inbox> {
  const inbox = memoryInbox();
  await Promise.all(severalIncoming(count).map((event) => inbox.accept(event, later())));
  return inbox;
}

describe('the newest seq', () => {
  it.each([0, 1, 2, 3, 7, 8, 9, 100])('is found among %i events', async (count) => {
    expect(await newestSeq(await inboxWith(count))).toBe(count);
  });

  it.each([[1], [5], [1, 2, 1_000_000], [3, 4, 9_007_199_254_740_000]])(
    'is found in few calls, whatever the gaps',
    async (...seqs) => {
      let calls = 0;
      const list: Inbox['list'] = async ({ after = 0 } = {}) => {
        calls += 1;
        return seqs.filter((seq) => seq > after).map((seq) => ({ seq }) as StoredEvent);
      };
      expect(await newestSeq({ list })).toBe(seqs.at(-1));
      expect(calls).toBeLessThan(120);
    },
  );
});

testStoredEvents('in memory', async () => memoryInbox());
testStoredEvents('in SQLite', async () => sqliteInbox(scratchFile()));
testNewestSeq('the newest seq in SQLite', async () => sqliteInbox(scratchFile()));
