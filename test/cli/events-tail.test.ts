import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { Follower } from '../../src/cli/events/tail.ts';
import { rerunEvents, type EventFilter } from '../../src/ops/index.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { claimed, FAILED, handleAgain, handled, key, RETRY } from '../ops/events-in-states.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { runHookbox } from './run-hookbox.ts';
import { running } from './serving.ts';
import { stockedFolder, STOCKED } from './stocked-inbox.ts';

describe('hookbox events tail', () => {
  it('prints the last events, oldest first', async () => {
    const { code, stdout, stderr } = await runHookbox(['events', 'tail', '-n', '3', '--type', 'order.created'], {
      cwd: await stockedFolder(),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const ids = STOCKED.filter((id) => stdout.includes(`  ${id} `) || stdout.includes(`  ${id}\n`));
    expect(ids).toEqual(['evt_retrying', 'evt_new', 'evt_other']);
    expect(stdout).toMatch(
      /^2026-01-01T00:00:00Z {2}pending \(retrying\) {2}order\.created .* evt_retrying +1 attempt, Error: the shop is down\n/,
    );
  });

  it('with -f goes on as events arrive and change, until Ctrl-C', async () => {
    const cwd = await stockedFolder();
    const tail = running(['events', 'tail', '-f', '-n', '2', '--json'], { cwd });
    await tail.line('"evt_other"');
    await using inbox = sqliteInbox(join(cwd, 'hookbox.db'));
    await store(inbox, orderEvent('evt_later'));
    await tail.line(/"what":"stored".*"evt_later"/);
    await rerunEvents(inbox, [key('evt_dead_1')], { actor: 'test' });
    expect(JSON.parse(await tail.line(/"what":"changed".*"evt_dead_1"/))).toMatchObject({ state: 'pending' });
    await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt_later'));
    await tail.line(/"what":"changed".*"evt_later".*"processed"/);
    const { code, stdout } = await tail.stop('SIGINT');
    expect(code).toBe(130);
    expect(stdout.trimEnd().split('\n')).toHaveLength(5);
  });
});

describe('following', () => {
  async function following(filter: EventFilter) {
    const inbox = sqliteInbox(scratchFile());
    const follower = new Follower(inbox, filter, new AbortController().signal);
    const silent = { show() {}, above: (print: () => void) => print(), end() {}, [Symbol.dispose]() {} };
    const changes = async () =>
      (await follower.changes()).map(({ what, event }) => `${event.id} ${what} ${event.state}`);
    return { inbox, changes, last: (count: number) => follower.last(count, silent) };
  }

  it('tells of what begins to fit, and of what fits no longer until it is settled', async () => {
    const { inbox, changes, last } = await following({ states: ['pending'] });
    await store(inbox, orderEvent('evt_1'), orderEvent('evt_2'));
    await handled(inbox, FAILED, orderEvent('evt_dead'));
    expect((await last(10)).map(({ id }) => id)).toEqual(['evt_1', 'evt_2']);
    expect(await changes()).toEqual([]);

    const { lease } = await claimed(inbox, key('evt_1'), Date.now());
    expect(await changes()).toEqual(['evt_1 changed processing']);
    await inbox.settle(lease, { outcome: 'processed' }, Date.now());
    await rerunEvents(inbox, [key('evt_dead')], { actor: 'test' });
    expect(await changes()).toEqual(['evt_1 changed processed', 'evt_dead changed pending']);
    expect(await changes()).toEqual([]);

    await handleAgain(inbox, RETRY, orderEvent('evt_2'));
    await store(inbox, orderEvent('evt_3'), orderEvent('evt_3'));
    expect(await changes()).toEqual(['evt_2 changed pending', 'evt_3 stored pending']);
    await inbox.close();
  });

  it('does not take what is older than it looks at for something new', async () => {
    const { inbox, changes, last } = await following({ states: ['pending'] });
    await storeMany(inbox, 520, 'evt');
    expect(await last(1)).toMatchObject([{ id: 'evt_519' }]);
    await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt_519'), orderEvent('evt_300'));
    expect(await changes()).toEqual(['evt_300 changed processed', 'evt_519 changed processed']);
    await storeMany(inbox, 700, 'more');
    expect(await changes()).toHaveLength(700);
    expect(await changes()).toEqual([]);
    await inbox.close();
  });

  it('tells once of an event that arrives while it looks which is the newest', async () => {
    const { inbox, changes } = await following({});
    await store(inbox, orderEvent('evt_1'));
    const { operations } = inbox;
    if (operations === undefined) throw new Error('there are none');
    const search = operations.search.bind(operations);
    vi.spyOn(operations, 'search').mockImplementationOnce(async (filter, page) => {
      const newest = await search(filter, page);
      await store(inbox, orderEvent('evt_2'));
      return newest;
    });
    expect(await changes()).toEqual(['evt_1 stored pending', 'evt_2 stored pending']);
    await handleAgain(inbox, { outcome: 'processed' }, orderEvent('evt_2'));
    expect(await changes()).toEqual(['evt_2 changed processed']);
    await inbox.close();
  });

  it('misses nothing by a look that fails', async () => {
    const { inbox, changes, last } = await following({});
    await last(0);
    await store(inbox, orderEvent('evt_1'));
    const { operations } = inbox;
    if (operations === undefined) throw new Error('there are none');
    const search = operations.search.bind(operations);
    // The first says which is the newest.
    vi.spyOn(operations, 'search').mockImplementationOnce(search).mockRejectedValueOnce(new Error('away'));
    await expect(changes()).rejects.toThrow('away');
    expect(await changes()).toEqual(['evt_1 stored pending']);
    await inbox.close();
  });
});

async function storeMany(inbox: Inbox, count: number, prefix: string): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, n) => store(inbox, orderEvent(`${prefix}_${n}`))));
}
