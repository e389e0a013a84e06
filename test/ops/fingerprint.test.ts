import { assert, property, string, stringMatching } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../src/inbox/rules/fingerprint.ts';
import { anyCharacter } from '../helpers/any-character.ts';
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

describe('the fingerprint of an error', () => {
  it.each([
    ['short ids', 'no order ord_42 for mer_7', 'no order ord_1 for mer_123'],
    ['long ids', 'no order ord_8sKq2LmZ0aPq', 'no order ord_ABCdefGHIjkl'],
    ['ids of letters of both cases', 'gone: evt_abCDefGH', 'gone: evt_XXXXyyyy'],
    ['ids with - and _ in them', 'no job V1StGXR8_Z5jdHi6B-myT', 'no job Zz-9aaaaBBBBcc_c0000xy'],
    ['UUIDs', 'no 3f2504e0-4f89-11d3-9a0c-0305e82c3301!', 'no ABCDEFAB-abcd-abcd-abcd-ABCDEFABCDEF!'],
    ['hex', 'hash 0xdeadbeef differs', 'hash 9f86d081884c7d65 differs'],
    ['numbers', 'expected 3 items, got 14', 'expected 25 items, got 1'],
    ['negative and decimal numbers', 'total -12.50 is off', 'total 7 is off'],
    ['numbers of another script', 'table ٤٢ is taken', 'table 7 is taken'],
    ['lists of numbers', 'items 1, 2, 3 are missing', 'items 4, 5 are missing'],
    ['times', 'since 2026-01-01T10:00:00.123Z', 'since 2025-12-31T23:59:59+02:00'],
    ['addresses of machines', 'connect ECONNREFUSED 127.0.0.1:5432', 'connect ECONNREFUSED 10.0.3.17:6432'],
    ['addresses of people', 'no customer anna.b+x@example.com', 'no customer o@shop.example.co.uk'],
    ['quoted text', `no "pad thai" on the menu`, `no "soup" on the menu`],
    ['text in single quotes', `can't find 'a b' here`, `can't find 'o' here`],
    ['text in backticks and in typographic quotes', 'no `a` or “b”', 'no `ccc` or “ddd eee”'],
    ['line breaks', 'a\n  b', 'a b'],
  ])('is the same for other %s', (_, one, other) => {
    expect(print(one)).toBe(print(other));
  });

  it.each([
    ['other words', 'the till did not answer', 'the printer did not answer'],
    ['other words of one name', 'order_not_found', 'order_not_open'],
    ['names with a number in them', 'step_2_validate failed', 'step_2_charge failed'],
    ['an apostrophe on either side', "it isn't open and won't be", "it isn't shut and won't be"],
    ['another language', '注文がありません', '在庫がありません'],
    ['something and nothing', 'gone', ''],
  ])('is another for %s', (_, one, other) => {
    expect(print(one)).not.toBe(print(other));
  });

  it('is another for an error of another name, and has 16 hex digits', () => {
    expect(print('gone')).not.toBe(print('gone', 'TypeError'));
    expect(print('gone')).toMatch(/^[0-9a-f]{16}$/);
  });

  it('is the same when only what comes after three hundred characters differs', () => {
    expect(print(`${'so it was '.repeat(40)}here`)).toBe(print(`${'so it was '.repeat(40)}there`));
  });

  it('has one for whatever is thrown, wherever its ids are', () => {
    const id = stringMatching(/^[a-z]{2,8}_[A-Za-z0-9]{1,20}[0-9]$/);
    const words = stringMatching(/^[a-z ]{0,40}$/);
    assert(
      property(id, id, words, words, (one, other, before, after) => {
        const prefixed = (id: string): string => `${before} ord_${id.split('_')[1] ?? ''} ${after}`;
        expect(print(prefixed(one))).toBe(print(prefixed(other)));
      }),
    );
    assert(property(string({ unit: anyCharacter, maxLength: 300 }), (message) => print(message).length === 16));
  });

  it.each([
    ['quotes', '"'],
    ['opening quotes', '“'],
    ['single quotes', " '"],
    ['letters', 'a'],
    ['digits', '1'],
    ['at signs', 'a@'],
    ['dashes', '-'],
    ['number signs', '#.'],
    ['spaces', ' '],
    ['opening brackets', '<'],
  ])('takes about as long for a mebibyte of %s as for a long sentence', (_, text) => {
    const time = (message: string): number => {
      const times = Array.from({ length: 5 }, () => {
        const startedAt = performance.now();
        print(message);
        return performance.now() - startedAt;
      });
      return Math.min(...times);
    };
    const sentence = time('the till of table 7 did not answer '.repeat(60));
    expect(time(text.repeat(1_048_576 / text.length))).toBeLessThan(20 * Math.max(sentence, 0.2));
  });
});

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
