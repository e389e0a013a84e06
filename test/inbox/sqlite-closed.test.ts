import { describe, expect, it } from 'vitest';
import { InboxUnavailableError } from '../../src/errors.ts';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../../src/inbox/sqlite/sqlite-inbox.ts';
import { EVERYTHING } from '../../src/inbox/work.ts';
import { createProcessor } from '../../src/processing/processor.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { recordedLog } from '../helpers/recorded-log.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';

const KEY = { endpoint: 'default', id: 'evt_1' };
const attempt = () => ({ now: () => Date.now(), signal: new AbortController().signal });
const asks: Readonly<Record<string, (inbox: Inbox) => Promise<unknown>>> = {
  accept: (inbox) => inbox.accept(incoming(), later()),
  get: (inbox) => inbox.get(KEY),
  list: (inbox) => inbox.list(),
  claim: (inbox) => inbox.claim({ ...EVERYTHING, now: 0, leaseMs: 1_000, ordered: true }, 1),
  nextDue: (inbox) => inbox.nextDue(EVERYTHING),
  transaction: (inbox) => inbox.transaction({ seq: 1, fence: 1 }, () => {}, attempt()),
  search: async (inbox) => inbox.operations?.search({}, {}),
  note: async (inbox) => inbox.operations?.note('export', { actor: 'ada' }, {}, {}),
  exportPages: async (inbox) => inbox.operations?.exportPages({}).next(),
};

async function refusal(asking: Promise<unknown>): Promise<unknown> {
  return asking.then(
    () => 'done',
    (failure: unknown) => failure,
  );
}

describe.each([true, false])('thread: %s', (thread) => {
  it.each(['path', 'database'])(
    'whatever is asked of an inbox that is closed is refused as such: %s',
    async (source) => {
      const inbox = sqliteInbox(source === 'path' ? scratchFile() : { database: merchantDatabase() }, { thread });
      await inbox.accept(incoming(), later());
      await inbox.close();
      for (const [name, ask] of Object.entries(asks)) {
        const failure = await refusal(ask(inbox));
        expect(failure, name).toBeInstanceOf(InboxUnavailableError);
        expect(failure, name).toMatchObject({ code: 'CLOSED', message: expect.stringContaining('closed') as string });
      }
    },
  );

  it('and what a closed connection of a merchant is needed for says so', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database }, { thread });
    await inbox.accept(incoming(), later());
    database.close();
    for (const name of ['transaction', 'exportPages']) {
      expect(await refusal(asks[name]?.(inbox) ?? Promise.resolve()), name).toMatchObject({
        code: 'CLOSED',
        message: 'the connection that you passed is closed',
      });
    }
  });

  it('a processor that goes on when its inbox was closed says what is wrong', async () => {
    const log = recordedLog();
    const inbox = sqliteInbox(scratchFile(), { thread });
    await using processor = createProcessor({ inbox, handlers: { '*': () => {} }, logger: log.logger });
    await processor.start();
    await inbox.close();
    await expect.poll(() => log.lines.length, { timeout: 5_000 }).toBeGreaterThan(0);
    for (const { facts } of log.lines) expect(facts).toMatchObject({ cause: 'the inbox is closed' });
  });
});
