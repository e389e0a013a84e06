import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { sqliteInbox } from '../../../src/inbox/sqlite/sqlite-inbox.ts';
import { later, severalIncoming } from '../../helpers/incoming-event.ts';
import { scratchFile } from '../../helpers/scratch-folder.ts';
import { seenThreads } from './seen-threads.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

it('an export that its reader has dropped without a word is dropped by its thread, too, and no other', async () => {
  const threads = seenThreads();
  await using inbox = sqliteInbox(scratchFile());
  await Promise.all(severalIncoming(250).map((event) => inbox.accept(event, later())));
  const kept = inbox.operations?.exportPages({});
  expect((await kept?.next())?.value).toMatchObject({ events: 100 });
  const asked = (): number =>
    threads
      .filter(({ entry }) => entry === 'operators-thread')
      .flatMap(({ sent }) => sent)
      .filter(({ kind }) => kind === 'operate').length;

  const drop = async (): Promise<void> => {
    const pages = inbox.operations?.exportPages({ states: ['pending'] });
    expect((await pages?.next())?.value).toMatchObject({ events: 100 });
  };
  for (let n = 0; n < 10; n += 1) await drop();
  const before = asked();
  await expect
    .poll(
      () => {
        collectGarbage();
        return asked();
      },
      { timeout: 10_000 },
    )
    .toBe(before + 10);
  expect((await kept?.next())?.value).toMatchObject({ events: 100 });
  expect((await kept?.next())?.value).toMatchObject({ events: 50 });
});
