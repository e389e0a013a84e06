import { expect, it, onTestFinished, vi } from 'vitest';
import { tellFailure } from '../../src/cli/shared/output.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { pruneEvents } from '../../src/ops/index.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { handled } from '../ops/events-in-states.ts';
import { orderEvent, store } from '../helpers/order-event.ts';

function toldOf(failure: unknown): string {
  const { exitCode } = process;
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => {
    written.mockRestore();
    process.exitCode = exitCode;
  });
  tellFailure(failure);
  return written.mock.calls.map(([text]) => String(text)).join('');
}

it('whoever prunes on a disk that is full is told to make room first', async () => {
  const database = merchantDatabase();
  await using inbox = sqliteInbox({ database });
  await handled(inbox, { outcome: 'processed' }, orderEvent('evt'));
  database.pragma(`max_page_count = ${Number(database.pragma('page_count', { simple: true }))}`);
  const fill = async (): Promise<void> => {
    for (let n = 0; ; n += 1) await store(inbox, orderEvent(`evt_${n}`));
  };
  await expect(fill()).rejects.toThrow('full');

  const by = { actor: 'ada', reason: 'the disk is full '.repeat(20) };
  const prune = async (): Promise<void> => {
    // The first ones may still find room on a page that is there.
    for (;;) await pruneEvents(inbox, { settledBefore: new Date() }, by);
  };
  const failure: unknown = await prune().catch((thrown: unknown) => thrown);
  expect(toldOf(failure)).toMatch(
    /error: database or disk is full \(SQLITE_FULL\)\. First free a few tens of megabytes on that disk \(delete logs or old exports\), or move the inbox to a larger disk\. Then prune events: pruning itself needs some free space\.\n$/,
  );
});

it('other failures of a database come without that advice', () => {
  const failure = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
  expect(toldOf(new Error('It failed', { cause: failure }))).toMatch(/error: It failed\n$/);
});
