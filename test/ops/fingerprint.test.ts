import { constants } from 'node:os';
import { assert, property, string, stringMatching } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../src/inbox/rules/error-groups.ts';
import { oneOf, seeded, whole } from '../../src/sender/faults.ts';
import { anyCharacter } from '../helpers/any-character.ts';
import { inboxOnFile } from '../helpers/inbox-on-loop.ts';
import { deadGroups, listEvents } from '../../src/ops/find.ts';
import { invalidIncoming, later } from '../helpers/incoming-event.ts';
import { orderEvent, store } from '../helpers/order-event.ts';
import { dead, testDeadGroups } from './dead-groups.conformance.ts';
import { bury, handled, inStates, invalidThen, plantDead } from './events-in-states.ts';
import { defineIdHash } from '../../src/inbox/sqlite/sql/statement.ts';

const DIGITS = '0123456789';
const HEX = '0123456789abcdef';
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const BASE36 = '0123456789abcdefghijklmnopqrstuvwxyz';
const BASE62 = `${BASE36}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

function text(random: () => number, alphabet: string, length: number): string {
  return Array.from({ length }, () => oneOf(random, [...alphabet])).join('');
}

function bytes(random: () => number, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => whole(random, 0, 255)));
}

function uuid(random: () => number): string {
  return [8, 4, 4, 4, 12].map((length) => text(random, HEX, length)).join('-');
}

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

  // Of a thousand errors that differ in the id alone: how many groups there may be.
  it.each<[string, number, (random: () => number) => string]>([
    ['UUIDs', 1, (random) => uuid(random)],
    ['UUIDs in capitals', 1, (random) => uuid(random).toUpperCase()],
    ['UUIDs without dashes', 1, (random) => text(random, HEX, 32)],
    ['ObjectIds', 1, (random) => text(random, HEX, 24)],
    ['hashes', 1, (random) => text(random, HEX, 40)],
    ['short hashes', 3, (random) => text(random, HEX, 8)],
    ['ULIDs', 1, (random) => text(random, CROCKFORD, 26)],
    ['TypeIDs', 1, (random) => `user_${text(random, CROCKFORD.toLowerCase(), 26)}`],
    ['KSUIDs', 3, (random) => text(random, BASE62, 27)],
    ['cuids', 1, (random) => `c${text(random, BASE36, 24)}`],
    ['ids of Stripe', 3, (random) => `ch_${text(random, BASE62, 24)}`],
    ['ids of the service', 5, (random) => `ord_${text(random, BASE62, 16)}`],
    ['base62 of 22', 5, (random) => text(random, BASE62, 22)],
    ['base62 of 16', 10, (random) => text(random, BASE62, 16)],
    ['base62 of 12', 25, (random) => text(random, BASE62, 12)],
    ['base62 of 10', 35, (random) => text(random, BASE62, 10)],
    ['base58', 5, (random) => text(random, BASE62.replaceAll(/[0OIl]/g, ''), 22)],
    ['base36', 25, (random) => text(random, BASE36, 11)],
    ['nanoids', 25, (random) => text(random, `${BASE62}_-`, 21)],
    ['nanoids behind a prefix', 20, (random) => `ord_${text(random, `${BASE62}_-`, 21)}`],
    ['push ids of Firebase', 30, (random) => `-${text(random, `${BASE62}_-`, 19)}`],
    ['base64 of 16 bytes', 30, (random) => bytes(random, 16).toString('base64')],
    ['base64url of 16 bytes', 30, (random) => bytes(random, 16).toString('base64url')],
    ['Snowflakes', 1, (random) => text(random, DIGITS, 18)],
    ['numbers of invoices', 1, (random) => `INV-${text(random, DIGITS, 6)}`],
    ['gids of Shopify', 1, (random) => `gid://shopify/Order/${text(random, DIGITS, 13)}`],
    ['slugs with an id', 1, (random) => `blue-shirt-${text(random, HEX, 12)}`],
    ['slugs in quotes', 1, (random) => `'${oneOf(random, ['blue', 'red'])}-${oneOf(random, ['shirt', 'hat'])}'`],
  ])('is nearly always the same for other %s: %i groups at most', (name, most, idOf) => {
    for (const [at, messageOf] of [
      (id: string) => `no order ${id} in the shop`,
      (id: string) => `${id} is gone`,
      (id: string) => `cannot find (${id}), try again`,
      (id: string) => `GET https://shop.test/orders/${id}/items has failed`,
      (id: string) => `order=${id}`,
    ].entries()) {
      const random = seeded(1, name, at);
      // What an id of base64 has in a path are its steps.
      if (name.startsWith('base64 ') && at === 3) continue;
      const groups = new Set(Array.from({ length: 1_000 }, () => print(messageOf(idOf(random)))));
      expect([at, groups.size > most ? groups.size : 'few']).toEqual([at, 'few']);
    }
  });

  it.each([
    ['host names', ['api.shop.test', 'api.bakery.test', 'payments.internal', 'checkout-db.eu.example.com']],
    ['names of pods', ['checkout-7d4b9c6f5-x2x9q', 'payments-7d4b9c6f5-x2x9q']],
    ['errors of the system', Object.keys(constants.errno).filter((code) => code !== 'EWOULDBLOCK')],
    [
      'codes of Node',
      ['ERR_SOCKET_CLOSED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'UND_ERR_CONNECT_TIMEOUT', 'ERR_BAD_OPTION'],
    ],
    [
      'codes in small letters',
      ['card_declined', 'expired_card', 'insufficient_funds', 'auth/user-not-found', 'auth/id-token-expired'],
    ],
    ['answers of HTTP', ['status code 404', 'status code 503', 'status 429', 'HTTP 500', 'HTTP/1.1 502', 'code: 410']],
    [
      'codes of databases',
      [
        'code 23505',
        'code 23503',
        'SQLSTATE 40001',
        'SQLSTATE[40P01]',
        'ORA-00942',
        'ORA-00001',
        'P2002',
        'P2025',
        'E11000',
        'errno: 1062',
        'errno: 1213',
      ],
    ],
    [
      'names in programs',
      [
        'getUserById',
        'getOrderById',
        'setTimeout',
        'findUniqueOrThrow',
        'TypeError',
        'RangeError',
        'XMLHttpRequest',
        'randomUUID',
      ],
    ],
    [
      'paths',
      [
        '/orders/aB3kQzXbLmPaR7Xy/list',
        '/carts/aB3kQzXbLmPaR7Xy/list',
        '/orders/list',
        '/orders/find',
        '/carts/list',
        'src/Orders/list.ts',
        'src/Carts/list.ts',
      ],
    ],
    [
      'words of other languages',
      ['Zahlungsschnittstelle', 'Bestellnummer', 'przyjmuje', 'objednávka', 'commande', 'ödeme'],
    ],
    ['hyphens', ['out-of-stock', 'out-of-order', 'read-only', 'write-only', 'two-factor-authentication']],
  ])('is another for other %s', (_, all) => {
    const prints = all.map((each) => print(`it failed: ${each} and so on`));
    expect(all.filter((_, at) => prints.indexOf(prints[at] ?? '') !== at)).toEqual([]);
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
      const times = Array.from({ length: 15 }, () => {
        const startedAt = performance.now();
        print(message);
        return performance.now() - startedAt;
      });
      return Math.min(...times);
    };
    const sentence = time('the till of table 7 did not answer '.repeat(60));
    // The text is 500 times as long; dashes take 12 to 22 times as long, as the sentence is compiled or not.
    expect(time(text.repeat(1_048_576 / text.length))).toBeLessThan(60 * Math.max(sentence, 0.2));
  });
});

testDeadGroups('groups of dead events in SQLite', async () => {
  const { inbox, database } = inboxOnFile();
  return {
    inbox,
    bury: async (id) => bury(database, id),
    plantDead: async (...events) => plantDead(database, ...events),
    named: async () => database.prepare('SELECT id FROM hookbox_events WHERE fingerprint IS NOT NULL').pluck().all(),
    async fillGroups() {
      defineIdHash(database);
      database.exec(`
        WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10250)
        INSERT INTO hookbox_events (endpoint, id, id_hash, type, created_ms, created_ns, verified, state, dead_reason,
          received_ms, settled_ms, due_ms, fingerprint, body)
        SELECT 'default', 'evt_' || n, hookbox_id_hash('evt_' || n), 'order.created', 0, 0, 1, 'dead', 'failed', 0, 0, 0,
          iif(n <= 10001, 'zzz', printf('group%04d', n)), x'7b7d'
        FROM n`);
    },
  };
});

describe('the events of a group', () => {
  it('are found by its fingerprint', async () => {
    const { inbox } = inboxOnFile();
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
    const { inbox, database } = inboxOnFile();
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
