import { assert, property, string, stringMatching } from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fingerprintOf } from '../../src/inbox/rules/fingerprint.ts';
import { anyCharacter } from '../helpers/any-character.ts';
import { sqliteInbox } from '../helpers/inbox-on-loop.ts';
import { deadGroups, listEvents } from '../../src/ops/find.ts';
import { invalidIncoming, later } from '../helpers/incoming-event.ts';
import { merchantDatabase } from '../helpers/merchant-database.ts';
import { scratchFile } from '../helpers/scratch-folder.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { dead, testDeadGroups } from './dead-groups.conformance.ts';
import { bury, handled, inStates, invalidThen, plantDead } from './events-in-states.ts';

const print = (message: string, name = 'Error'): string => fingerprintOf({ name, message });

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

testDeadGroups('groups of dead events in SQLite', async () => {
  const database = merchantDatabase();
  const inbox = sqliteInbox({ database });
  onTestFinished(() => inbox.close());
  return {
    inbox,
    bury: async (id) => bury(database, id),
    plantDead: async (...events) => plantDead(database, ...events),
    named: async () => database.prepare('SELECT id FROM hookbox_events WHERE fingerprint IS NOT NULL').pluck().all(),
    async fillGroups() {
      database.exec(`
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10250)
        INSERT INTO hookbox_events (endpoint, id, type, created_ms, created_ns, verified, state, dead_reason, received_ms,
          settled_ms, due_ms, fingerprint, body)
        SELECT 'default', 'evt_' || n, 'order.created', 0, 0, 1, 'dead', 'failed', 0, 0, 0,
          iif(n <= 10001, 'zzz', printf('group%04d', n)), x'7b7d'
        FROM n`);
    },
  };
});

describe('the events of a group', () => {
  it('are found by its fingerprint', async () => {
    await using inbox = sqliteInbox(scratchFile());
    await handled(inbox, dead('no order ord_1 in the shop'), orderEvent('evt_1'), orderEvent('evt_2'));
    await handled(inbox, dead('the till is shut'), orderEvent('evt_3'));
    await inbox.accept(invalidIncoming({ id: 'evt_4', body: '{"id":"evt_4"}' }), later());
    await inStates['dead (crashed)'](inbox);
    const groups = await deadGroups(inbox);
    expect(groups.map(({ count }) => count)).toEqual([2, 1, 1, 1]);
    for (const { fingerprint, count } of groups) {
      expect((await listEvents(inbox, { fingerprint })).events).toHaveLength(count);
    }
    expect((await listEvents(inbox, { fingerprint: 'crashed' })).events).toMatchObject([{ id: 'evt' }]);
  });

  it('are not, once their bodies are gone: only by their state', async () => {
    const database = merchantDatabase();
    await using inbox = sqliteInbox({ database });
    await store(inbox, invalidThen(orderEvent('invalid')));
    const error = { name: 'Error', message: 'down', stack: null };
    await handled(inbox, { outcome: 'dead', reason: 'failed', error }, orderEvent('one'), orderEvent('other'));
    for (const id of ['invalid', 'one']) bury(database, id);
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
});
