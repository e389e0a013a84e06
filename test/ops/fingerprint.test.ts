import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../src/inbox/rules/fingerprint.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import type { Settlement } from '../../src/inbox/work.ts';
import { deadGroups, listEvents } from '../../src/ops/find.ts';
import { rerun } from '../../src/ops/rerun.ts';
import { invalidIncoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { ANY, bury, handled, invalidThen, plantDead } from './events-in-states.ts';

const print = (message: string, name = 'Error'): string => fingerprintOf({ name, message });

function dead(message: string, name = 'Error'): Settlement {
  return {
    outcome: 'dead',
    reason: 'failed',
    error: { name, message, stack: `${name}: ${message}\n at ${Math.random()}` },
  };
}

describe('dead events', () => {
  it('are grouped by what their errors say, the largest group first', async () => {
    await using inbox = sqliteInbox(scratchFile());
    await handled(inbox, dead('no order ord_1 in the shop'), orderEvent('evt_1', { receivedAt: START }));
    await handled(inbox, dead('the till is shut'), orderEvent('evt_2'));
    await handled(inbox, dead('no order ord_3 in the shop'), orderEvent('evt_3'));
    await handled(inbox, dead('no order ord_4 in the shop'), orderEvent('evt_4'));
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_5'));
    await inbox.accept(invalidIncoming({ id: 'evt_6', body: '{"id":"evt_6"}' }), later());

    const groups = await deadGroups(inbox);
    expect(groups.map(({ count, more, reason, sample }) => ({ count, more, reason, sample }))).toEqual([
      { count: 3, more: false, reason: 'failed', sample: { name: 'Error', message: 'no order ord_4 in the shop' } },
      { count: 1, more: false, reason: 'failed', sample: { name: 'Error', message: 'the till is shut' } },
      {
        count: 1,
        more: false,
        reason: 'invalid',
        // No handler was given it; what does not fit is said instead.
        sample: { name: 'InvalidEvent', message: expect.stringContaining('type: ') },
      },
    ]);
    expect(groups[0]).toMatchObject({
      fingerprint: print('no order ord_9 in the shop'),
      newest: { id: 'evt_4', fingerprint: groups[0]?.fingerprint },
      oldest: { id: 'evt_1' },
    });
    for (const { fingerprint, count } of groups) {
      expect((await listEvents(inbox, { fingerprint })).events).toHaveLength(count);
    }
  });

  it('whose runs went away without a word, or that died before there were fingerprints, are a group by their reason', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await store(inbox, orderEvent('evt_1'));
    for (let crash = 0; crash < 3; crash += 1) {
      await inbox.claimOne(orderEvent('evt_1'), { ...ANY, leaseMs: 1, now: START + crash * 10 });
    }
    await inbox.claim({ ...ANY, types: [], now: START + 100 }, 1);
    plantDead(database, orderEvent('evt_2'), orderEvent('evt_3'));

    expect((await deadGroups(inbox)).map(({ fingerprint, count }) => [fingerprint, count])).toEqual([
      ['failed', 2],
      ['crashed', 1],
    ]);
    expect((await listEvents(inbox, { fingerprint: 'crashed' })).events).toMatchObject([{ id: 'evt_1' }]);
  });

  it('have no fingerprint any more once they are anything else', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    const kept = (): unknown[] =>
      database.prepare('SELECT id FROM hookbox_events WHERE fingerprint IS NOT NULL').pluck().all();
    const failed = dead('the till is shut');

    const events = ['rerun', 'claimed', 'replaced', 'in a transaction'].map((id) => orderEvent(id));
    for (const event of events) await inbox.accept({ ...event, verified: event.id !== 'replaced' }, later());
    for (const event of events) {
      const claimed = await inbox.claimOne(event, { ...ANY, now: START });
      if (typeof claimed === 'string') throw new Error(claimed);
      if (event.id === 'in a transaction') {
        await inbox.transaction(claimed.lease, () => {}, { now: () => START, signal: new AbortController().signal });
      } else {
        await inbox.settle(claimed.lease, failed, START);
      }
    }
    expect(kept()).toEqual(['rerun', 'claimed', 'replaced']);

    expect(await rerun(inbox, { endpoint: 'default', id: 'rerun' })).toBe('rerun');
    await inbox.claimOne(orderEvent('claimed'), { ...ANY, now: START });
    await inbox.accept(orderEvent('replaced', { total: 1 }), later());
    expect(kept()).toEqual([]);
  });

  it('whose body was invalid and became valid are in no group', async () => {
    await using inbox = sqliteInbox(scratchFile());
    await inbox.accept(invalidThen(orderEvent('evt_1')), later());
    expect(await deadGroups(inbox)).toHaveLength(1);
    expect(await rerun(inbox, { endpoint: 'default', id: 'evt_1' })).toBe('rerun');
    expect(await deadGroups(inbox)).toEqual([]);
  });

  it('whose bodies are gone are in no group, and only found by their state', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await store(inbox, invalidThen(orderEvent('invalid')));
    const error = { name: 'Error', message: 'down', stack: null };
    await handled(inbox, { outcome: 'dead', reason: 'failed', error }, orderEvent('one'), orderEvent('other'));
    for (const id of ['invalid', 'one']) bury(database, id);
    expect(await deadGroups(inbox)).toMatchObject([{ reason: 'failed', count: 1, newest: { id: 'other' } }]);
    for (const fingerprint of ['invalid', fingerprintOf(error)]) {
      const { events } = await listEvents(inbox, { fingerprint });
      expect(events.map(({ id }) => id)).toEqual(fingerprint === 'invalid' ? [] : ['other']);
    }
    const { events } = await listEvents(inbox, { states: ['dead'] });
    expect(events.map(({ id, pruned, fingerprint }) => [id, pruned, fingerprint])).toEqual([
      ['other', false, fingerprintOf(error)],
      ['one', true, null],
      ['invalid', true, null],
    ]);
  });

  it('are counted up to ten thousand a group, and shown in two hundred groups', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    database.exec(`
      WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10250)
      INSERT INTO hookbox_events (endpoint, id, type, created_ms, created_ns, verified, state, dead_reason, received_ms,
        settled_ms, due_ms, fingerprint, body)
      SELECT 'default', 'evt_' || n, 'order.created', 0, 0, 1, 'dead', 'failed', 0, 0, 0,
        iif(n <= 10001, 'zzz', printf('group%04d', n)), x'7b7d'
      FROM n`);

    const groups = await deadGroups(inbox);
    expect(groups).toHaveLength(200);
    expect(groups[0]).toMatchObject({
      fingerprint: 'zzz',
      count: 10_000,
      more: true,
      newest: { id: 'evt_10001' },
      oldest: { id: 'evt_1' },
    });
    expect(groups[1]).toMatchObject({ count: 1, more: false });
  });
});
