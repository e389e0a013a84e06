import { expect, it } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import type { IncomingEvent } from '../../src/inbox/event.ts';
import { fingerprintOf } from '../../src/inbox/rules/error-groups.ts';
import type { Settlement } from '../../src/inbox/work.ts';
import { acknowledgeGroup, reopenGroup } from '../../src/ops/acknowledge.ts';
import { deadGroups } from '../../src/ops/find.ts';
import { rerun } from '../../src/ops/act-on-events.ts';
import { invalidIncoming, later } from '../helpers/incoming-event.ts';
import { orderEvent, orderEvents, store } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { ANY, attempt, auditOf, committed, handled, invalidThen, key } from './events-in-states.ts';

export interface GroupedStore {
  readonly inbox: Inbox;
  readonly bury: (id: string) => Promise<void>;
  /** Dead events of before there were fingerprints. */
  readonly plantDead: (...events: readonly IncomingEvent[]) => Promise<void>;
  readonly named: () => Promise<readonly unknown[]>;
  /** 10,250 dead events, evt_1 and so on: 10,001 of the fingerprint zzz, and each other one of its own. */
  readonly fillGroups: () => Promise<void>;
}

const print = (message: string): string => fingerprintOf({ name: 'Error', message });

export function dead(message: string, name = 'Error'): Settlement {
  return {
    outcome: 'dead',
    reason: 'failed',
    error: { name, message, stack: `${name}: ${message}\n at ${Math.random()}` },
  };
}

export const testDeadGroups = suite((open: () => Promise<GroupedStore>) => {
  it('are grouped by what their errors say, the largest group first', async () => {
    const { inbox } = await open();
    await handled(inbox, dead('no order ord_1 in the shop'), orderEvent('evt_1', { receivedAt: START }));
    await handled(inbox, dead('the till is shut'), orderEvent('evt_2'));
    await handled(inbox, dead('no order ord_3 in the shop'), orderEvent('evt_3'));
    await handled(inbox, dead('no order ord_4 in the shop'), orderEvent('evt_4'));
    await handled(inbox, { outcome: 'processed' }, orderEvent('evt_5'));
    await inbox.accept(invalidIncoming({ id: 'evt_6', body: '{"id":"evt_6"}' }), later());

    const groups = await deadGroups(inbox);
    expect(groups.map(({ count, more, reason, sample }) => ({ count, more, reason, sample }))).toEqual([
      { count: 3, more: false, reason: 'failed', sample: { name: 'Error', message: 'no order ord_4 in the shop' } },
      {
        count: 1,
        more: false,
        reason: 'invalid',
        sample: { name: 'InvalidEvent', message: expect.stringContaining('type: ') },
      },
      { count: 1, more: false, reason: 'failed', sample: { name: 'Error', message: 'the till is shut' } },
    ]);
    expect(groups[0]).toMatchObject({
      fingerprint: print('no order ord_9 in the shop'),
      newest: { id: 'evt_4', fingerprint: groups[0]?.fingerprint },
      oldest: { id: 'evt_1' },
    });
  });

  it('are in the order of their newest events where they are equally large', async () => {
    const { inbox } = await open();
    const messages = ['till', 'printer', 'stock', 'courier', 'invoice', 'card'].map((what) => `no ${what} answers`);
    for (const [n, message] of messages.entries()) {
      await handled(inbox, dead(message), orderEvent(`evt_${n}a`), orderEvent(`evt_${n}b`));
    }
    await handled(inbox, dead('alone'), orderEvent('evt_last'));
    expect((await deadGroups(inbox)).map(({ sample }) => sample?.message)).toEqual([...messages.toReversed(), 'alone']);
  });

  it('whose runs went away without a word, or that died before there were fingerprints, are a group by their reason', async () => {
    const { inbox, plantDead } = await open();
    await store(inbox, orderEvent('evt_1'));
    for (let crash = 0; crash < 3; crash += 1) {
      await inbox.claimOne(orderEvent('evt_1'), { ...ANY, leaseMs: 1, now: START + crash * 10 });
    }
    await inbox.claim({ ...ANY, types: [], now: START + 100 }, 1);
    await plantDead(orderEvent('evt_2'), orderEvent('evt_3'));

    expect((await deadGroups(inbox)).map(({ fingerprint, count }) => [fingerprint, count])).toEqual([
      ['failed', 2],
      ['crashed', 1],
    ]);
  });

  it('have no fingerprint any more once they are anything else', async () => {
    const { inbox, named } = await open();
    const failed = dead('the till is shut');

    const events = ['rerun', 'claimed', 'replaced', 'in a transaction'].map((id) => orderEvent(id));
    for (const event of events) await inbox.accept({ ...event, verified: event.id !== 'replaced' }, later());
    for (const event of events) {
      if (event.id === 'in a transaction') await committed(inbox, event, START);
      else await attempt(inbox, event, failed, START);
    }
    expect(await named()).toEqual(['rerun', 'claimed', 'replaced']);

    expect(await rerun(inbox, key('rerun'))).toBe('rerun');
    await inbox.claimOne(orderEvent('claimed'), { ...ANY, now: START });
    await inbox.accept(orderEvent('replaced', { total: 1 }), later());
    expect(await named()).toEqual([]);
  });

  it('whose body was invalid and became valid are in no group', async () => {
    const { inbox } = await open();
    await inbox.accept(invalidThen(orderEvent('evt_1')), later());
    expect(await deadGroups(inbox)).toHaveLength(1);
    expect(await rerun(inbox, key('evt_1'))).toBe('rerun');
    expect(await deadGroups(inbox)).toEqual([]);
  });

  it('whose bodies are gone are in no group, and only found by their state', async () => {
    const { inbox, bury } = await open();
    await store(inbox, invalidThen(orderEvent('invalid')));
    const error = { name: 'Error', message: 'down', stack: null };
    await handled(inbox, { outcome: 'dead', reason: 'failed', error }, orderEvent('one'), orderEvent('other'));
    for (const id of ['invalid', 'one']) await bury(id);
    expect(await deadGroups(inbox)).toMatchObject([{ reason: 'failed', count: 1, newest: { id: 'other' } }]);
  });

  it('know when and how often their events died, and of which types', async () => {
    const { inbox } = await open();
    const [first, second, third] = ['evt_1', 'evt_2', 'evt_3'].map((id) => orderEvent(id));
    if (first === undefined || second === undefined || third === undefined) throw new Error('three events');
    await store(inbox, first, second, { ...third, type: 'order.ready' });
    const hour = 3_600_000;
    // The event that arrived last died first.
    for (const [event, hours] of [
      [third, 0],
      [first, 25],
      [second, 26],
    ] as const) {
      await attempt(inbox, event, dead('the till is shut'), START + hours * hour);
    }
    const now = START + 26 * hour + 1;
    const [group] = await deadGroups(inbox, now);
    expect(group?.firstDeadAt).toEqual(new Date(START));
    expect(group?.lastDeadAt).toEqual(new Date(START + 26 * hour));
    expect(group?.types).toEqual({ 'order.created': 2, 'order.ready': 1 });
    expect(group?.recent).toEqual([...Array.from({ length: 22 }, () => 0), 1, 1]);
  });

  it('that are acknowledged come last, and are open again when an event dies in them, not when one leaves', async () => {
    const { inbox, bury } = await open();
    const shut = dead('the till is shut');
    await handled(inbox, shut, ...orderEvents(3));
    await handled(inbox, dead('alone'), orderEvent('evt_alone'));
    const group = print('the till is shut');
    const ada = { actor: 'ada', reason: ' the new till comes on Monday ', now: START + 60 };
    const link = 'https://wiki.example/till';
    const states = async (): Promise<readonly unknown[]> =>
      (await deadGroups(inbox)).map(({ fingerprint, open }) => [fingerprint, open]);

    expect(await acknowledgeGroup(inbox, 'ffffffffffffffff', ada)).toEqual({
      result: 'unknown',
      acknowledgement: null,
    });
    expect(await acknowledgeGroup(inbox, group, ada, { count: 2 })).toEqual({
      result: 'changed',
      acknowledgement: null,
    });
    expect(await states()).toEqual([
      [group, true],
      [print('alone'), true],
    ]);

    const { acknowledgement } = await acknowledgeGroup(inbox, group, ada, { link, count: 3 });
    const known = { at: expect.any(Date), actor: 'ada', reason: 'the new till comes on Monday', link, count: 3 };
    expect(acknowledgement).toEqual(known);
    expect(await states()).toEqual([
      [print('alone'), true],
      [group, false],
    ]);
    expect((await deadGroups(inbox))[1]?.acknowledged).toEqual(known);

    await bury('evt_2');
    expect(await rerun(inbox, key('evt_1'))).toBe('rerun');
    expect(await states()).toEqual([
      [print('alone'), true],
      [group, false],
    ]);
    await attempt(inbox, orderEvent('evt_1'), shut, START + 100);
    expect(await states()).toEqual([
      [group, true],
      [print('alone'), true],
    ]);
    expect((await deadGroups(inbox))[0]?.acknowledged).toEqual(known);

    await acknowledgeGroup(inbox, group, { actor: 'grace' });
    expect((await deadGroups(inbox))[1]).toMatchObject({ open: false, acknowledged: { actor: 'grace', link: null } });
    expect(await reopenGroup(inbox, group, { actor: 'ada' })).toMatchObject({ actor: 'grace', count: 2 });
    expect(await reopenGroup(inbox, group, { actor: 'ada' })).toBeNull();
    expect((await deadGroups(inbox))[0]).toMatchObject({ open: true, acknowledged: null });

    expect((await auditOf(inbox)).map(({ act, actor, filter, counts }) => [act, actor, filter, counts])).toEqual([
      ['reopen', 'ada', { fingerprint: group }, {}],
      ['acknowledge', 'grace', { fingerprint: group }, { events: 2 }],
      ['acknowledge', 'ada', { fingerprint: group, link }, { events: 3 }],
    ]);
  });

  it.each(['javascript:alert(1)', 'wiki.example/till', ''])('take no link %j', async (link) => {
    const { inbox } = await open();
    const refused = acknowledgeGroup(inbox, 'failed', { actor: 'ada' }, { link });
    await expect(refused).rejects.toThrow('link must begin with https:// or http://');
  });

  it('are counted up to ten thousand a group, and shown in two hundred groups', async () => {
    const { inbox, fillGroups } = await open();
    await fillGroups();
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
