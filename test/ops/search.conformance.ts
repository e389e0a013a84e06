import { array, assert, asyncProperty, boolean, constantFrom, integer, record, subarray } from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Inbox } from '../../src/inbox/contract.ts';
import { entityOf } from '../../src/events/entity.ts';
import { fingerprintOf } from '../../src/inbox/rules/error-groups.ts';
import { type IncomingEvent, type StoredEvent, deadReasons, eventStates } from '../../src/inbox/event.ts';
import type { EventFilter } from '../../src/inbox/operator/search.ts';
import type { Attempt } from '../../src/inbox/work.ts';
import { rerunEvents, rerun } from '../../src/ops/act-on-events.ts';
import { listEvents } from '../../src/ops/find.ts';
import { incoming, later } from '../helpers/incoming-event.ts';
import { orderEvent, store as storeIn } from '../helpers/order-event.ts';
import { START } from '../helpers/virtual-clock.ts';
import { suite } from '../helpers/suite.ts';
import { busyShop, ERRORS, MERCHANTS, NUMBERS, TYPES } from './busy-shop.ts';
import { allPages, found, idsOf } from './found-pages.ts';
import { dead } from './dead-groups.conformance.ts';
import { attempt, handled, invalidThen, key } from './events-in-states.ts';
import type { SearchedStore } from './searched-store.ts';

const MINUTE_MS = 60_000;

export const testSearch = suite((open: () => Promise<SearchedStore>) => {
  let kept: SearchedStore;
  let inbox: Inbox;
  const emptyEach = (): void =>
    beforeEach(async () => {
      kept = await open();
      ({ inbox } = kept);
      onTestFinished(() => kept[Symbol.asyncDispose]());
    });

  describe('a search, whatever the filter', () => {
    /** More than a search looks at in its first step. */
    const COUNT = 600;
    let shop: SearchedStore;
    let putAwayAt: ReadonlyMap<number, Date>;
    let stored: readonly {
      event: StoredEvent;
      attempts: readonly Attempt[];
      data: Record<string, string | null>;
      settledAt: Date | null;
    }[];
    beforeAll(async () => {
      shop = await open();
      const { inbox } = shop;
      const delivered = await busyShop(shop, COUNT);
      stored = await Promise.all(
        delivered.map(async (one) => {
          const event = await inbox.get(one);
          if (event === null) throw new Error(`${one.id} is not there`);
          const { data } = JSON.parse(Buffer.from(one.body).toString()) as { data: Record<string, string | null> };
          const settledAt = (await inbox.operations?.summary(one))?.settledAt ?? null;
          return { event, attempts: await inbox.attempts(one), data, settledAt };
        }),
      );
      putAwayAt = await shop.putAway();
    });
    afterAll(() => shop[Symbol.asyncDispose]());

    const filters = record(
      {
        endpoint: constantFrom('default', 'second', 'third'),
        id: integer({ min: 0, max: 750 }).map((n) => `evt_${n}`),
        types: subarray([...TYPES, 'order.failed']),
        states: subarray([...eventStates]),
        deadReasons: subarray([...deadReasons]),
        since: integer({ min: -100, max: 800 }).map((n) => new Date(START + n * MINUTE_MS)),
        until: integer({ min: -100, max: 800 }).map((n) => new Date(START + n * MINUTE_MS)),
        entity: constantFrom('ord_7', 'ord_19', 'prod_3', 'loc_1', 'order:mer%3A2:ord_5', 'order:mer_1:ord_7', 'mer_1'),
        merchant: constantFrom('mer_1', 'mer:2', 'mer_3', ''),
        error: constantFrom('the till', 'THE TILL', '100%', '%', '_', 'drucker LÄUFT über', 'tillerror: a', 'nothing'),
        failedSince: integer({ min: -1, max: 800 }).map((n) => new Date(START + n * MINUTE_MS)),
        failedUntil: integer({ min: -1, max: 800 }).map((n) => new Date(START + n * MINUTE_MS)),
        text: constantFrom('EVT_1', 'ORD_7', 'p.Open', 'mer_1', 'the till', 'läuft', 'tillerror: d', '%', 'nothing'),
        events: array(
          record({
            endpoint: constantFrom('default', 'second'),
            id: integer({ min: 0, max: 750 }).map((n) => `evt_${n}`),
          }),
          { maxLength: 90 },
        ),
        fingerprint: constantFrom(
          ...ERRORS.map((message) => fingerprintOf({ name: 'TillError', message })),
          'invalid',
          'nothing',
        ),
        ignoredSince: integer({ min: -100, max: 1_600 }).map((n) => new Date(START + n * MINUTE_MS)),
        retrying: boolean(),
        redelivered: boolean(),
        superseded: boolean(),
        conflict: boolean(),
        body: array(
          constantFrom(
            ...NUMBERS.map((value) => ({ path: 'data.total', value })),
            { path: 'data.total', value: '0' },
            { path: 'data.merchant_id', value: 'null' },
            { path: 'data.merchant_id', value: 'mer:2' },
            { path: 'data.odd "name"\\[0]', value: '2' },
            { path: 'data.odd "name"\\[1].ok', value: 'true' },
            { path: 'data.odd "name"\\[1]', value: '{"ok":true}' },
          ),
          { maxLength: 2 },
        ),
        bodyText: constantFrom('ORD_7', 'mer:2', 'prod_3', '12345678901234567891', 'merchant_id', 'nothing'),
      },
      { requiredKeys: [] },
    );
    const fewConditions = filters.chain((filter) =>
      // What a bulk was done to: bulk-outcome.conformance.ts.
      subarray(Object.keys(filter) as (keyof typeof filter)[], { maxLength: 3 }).map(
        (names) => Object.fromEntries(names.map((name) => [name, filter[name]])) as EventFilter,
      ),
    );

    const sameNumber = new Map([
      ...['1.50', '1.5', '15e-1'].map((text) => [text, '1.5'] as const),
      ['-0.0', '0'],
      ['0', '0'],
    ]);
    const canonical = (text: string): string => sameNumber.get(text) ?? text;

    function fits({ event, attempts, data, settledAt }: (typeof stored)[number], filter: EventFilter): boolean {
      const ids = [data['id'], data['product_id'], data['location_id']];
      const named =
        event.entity ?? (event.body === null ? null : entityOf(JSON.parse(Buffer.from(event.body).toString())));
      const names = named === null && event.body === null ? [] : [named, ...ids];
      const error = attempts.findLast((attempt) => attempt.error !== null)?.error;
      const text = error ? `${error.name}: ${error.message}` : null;
      const putAway = putAwayAt.get(event.seq) ?? null;
      const isRetrying = event.state === 'pending' && attempts.some(({ outcome }) => outcome === 'failed');
      const isDead = event.state === 'dead' && event.body !== null;
      const failedAt = isDead ? settledAt : isRetrying ? (attempts.at(-1)?.endedAt ?? null) : null;
      const searched = [event.id, event.type ?? '', event.entity ?? '', text ?? ''].map((one) => one.toLowerCase());
      const isGrouped = event.state === 'dead' || (isRetrying && filter.retrying === true);
      const print = !isGrouped || event.body === null ? null : error ? fingerprintOf(error) : event.deadReason;
      return (
        (filter.endpoint === undefined || filter.endpoint === event.endpoint) &&
        (filter.id === undefined || filter.id === event.id) &&
        (filter.types === undefined || filter.types.some((type) => type === event.type)) &&
        (filter.states === undefined || filter.states.includes(event.state)) &&
        (filter.deadReasons === undefined || filter.deadReasons.some((reason) => reason === event.deadReason)) &&
        (filter.since === undefined || event.receivedAt >= filter.since) &&
        (filter.until === undefined || event.receivedAt < filter.until) &&
        (filter.entity === undefined || names.includes(filter.entity)) &&
        (filter.merchant === undefined || (data['merchant_id'] ?? null) === filter.merchant) &&
        (filter.error === undefined || text?.toLowerCase().includes(filter.error.toLowerCase()) === true) &&
        (filter.failedSince === undefined || (failedAt !== null && failedAt >= filter.failedSince)) &&
        (filter.failedUntil === undefined || (failedAt !== null && failedAt < filter.failedUntil)) &&
        searched.some((one) => one.includes(filter.text?.toLowerCase() ?? '')) &&
        (filter.events?.some(({ endpoint, id }) => endpoint === event.endpoint && id === event.id) ?? true) &&
        (filter.fingerprint === undefined || filter.fingerprint === print) &&
        (filter.ignoredSince === undefined || (putAway !== null && putAway >= filter.ignoredSince)) &&
        (filter.retrying === undefined || filter.retrying === isRetrying) &&
        (filter.redelivered === undefined || filter.redelivered === event.redeliveries.count > 0) &&
        (filter.conflict === undefined || filter.conflict === (event.conflict !== null)) &&
        (filter.superseded === undefined ||
          filter.superseded === (event.state === 'processed' && attempts.at(-1)?.outcome === 'superseded')) &&
        (filter.bodyText === undefined ||
          valuesIn(event).some((one) => one.includes(filter.bodyText?.toUpperCase() ?? ''))) &&
        (filter.body ?? []).every(({ path, value }) => {
          if (event.body === null) return false;
          const body = Buffer.from(event.body).toString();
          if (path === 'data.total') return canonical(/"total":([^}]*)/.exec(body)?.[1] ?? '') === canonical(value);
          if (path === 'data.merchant_id') return String(data['merchant_id']) === value;
          const [number, { ok }] = data['odd "name"\\'] as unknown as [number, { ok: boolean }];
          if (path.endsWith('[0]')) return String(number) === value;
          return path.endsWith('.ok') && String(ok) === value;
        })
      );
    }

    it('has something of everything to find', () => {
      for (const state of eventStates) expect(stored.some(({ event }) => event.state === state)).toBe(true);
      expect(stored.some(({ event }) => event.body === null)).toBe(true);
      expect(MERCHANTS).toContain(null);
      expect(putAwayAt.size).toBeGreaterThan(0);
    });

    it.each([
      ['nothing is indexed yet', 0],
      ['half of the events are indexed', 300],
      ['all events are indexed', 600],
    ])('finds what fits in order and each once, and counts it, when %s', async (_, indexed) => {
      await shop.forgetIndex();
      for (let left = COUNT; left > COUNT - indexed;) {
        left = (await shop.inbox.operations?.indexNew(left - (COUNT - indexed))) ?? 0;
      }
      let finds = 0;
      await assert(
        asyncProperty(fewConditions, integer({ min: 30, max: 500 }), boolean(), async (filter, limit, oldest) => {
          const expected = stored.filter((one) => fits(one, filter));
          const pages = await allPages(shop.readOnly, filter, limit, oldest ? 'oldest' : 'newest');
          const ids = expected.map(({ event }) => event.id);
          expect(idsOf(pages)).toEqual(oldest ? ids : ids.toReversed());
          expect(await shop.readOnly.countFound(filter, {})).toEqual({ count: ids.length, more: false, cut: false });
          for (const { events, next } of pages) if (next !== null) expect(events).toHaveLength(limit);
          if (expected.length > 0 && expected.length < stored.length) finds += 1;
        }),
        { numRuns: 80 },
      );
      expect(finds).toBeGreaterThan(10);
    });
  });

  describe('the conditions of a search', () => {
    emptyEach();

    it('compares a text by what it says and a number by its value, whole and exactly', async () => {
      const cases: readonly (readonly [written: string, value: string, fits: boolean])[] = [
        ['12.5', '12.50', true],
        ['12.50', '12.5', true],
        ['12.50', '12.50', true],
        ['1250e-2', '12.5', true],
        ['100', '1e2', true],
        ['0.1', '0.10000000000000000001', false],
        ['12345678901234567890', '12345678901234567890', true],
        ['12345678901234567890', '12345678901234567891', false],
        ['1', '01', true],
        ['1', ' 1', false],
        ['-0.0', '0', true],
        ['1e400', 'Infinity', false],
        ['"12.50"', '12.50', true],
        ['"12.50"', '12.5', false],
        ['"\\u0061\\n\\ud83d\\ude00"', 'a\n😀', true],
        ['""', '', true],
        ['"null"', 'null', true],
        ['null', 'null', true],
        ['true', 'true', true],
        ['false', 'true', false],
        ['[1]', '[1]', false],
        ['{}', '{}', false],
        ['[]', '', false],
      ];
      await Promise.all(
        cases.map(([written], n) => inbox.accept(incoming({ id: `${n}`, body: `{"data":{"x":${written}}}` }), later())),
      );
      for (const [n, [written, value, fits]] of cases.entries()) {
        const ids = await found(inbox, { id: `${n}`, body: [{ path: 'data.x', value }] });
        expect([written, value, ids.length]).toEqual([written, value, fits ? 1 : 0]);
      }
    });

    it('a path leads through lists and names of any kind, and nowhere else', async () => {
      const names = ['a"b', 'a\\', '$', '#', '*', "it's", '?', ' ', '\n', '注文', '\u0000', '%', '-1', '"x":1,"y'];
      const data = Object.fromEntries(names.map((name, n) => [name, [[{ n }]]]));
      await inbox.accept(incoming({ body: JSON.stringify({ data }) }), later());
      for (const [n, name] of names.entries()) {
        expect(await found(inbox, { body: [{ path: `data.${name}[0][0].n`, value: String(n) }] })).toEqual(['evt_1']);
        expect(await found(inbox, { body: [{ path: `data.${name}[0][1].n`, value: String(n) }] })).toEqual([]);
        expect(await found(inbox, { body: [{ path: `data.${name}[0][0].n.x`, value: String(n) }] })).toEqual([]);
      }
    });

    it('bodies that are broken, deep, large or gone break no page and fit nothing', async () => {
      const bodies: Record<string, Uint8Array | string> = {
        'not JSON': '{"data":{"x":1}',
        empty: '',
        'not UTF-8': Buffer.from([0x7b, 0xff, 0xfe, 0x00]),
        'JSON in another encoding': Buffer.from('{"data":{"x":1}}', 'utf16le'),
        'a zero byte': '{"data":{"x":\u00001}}',
        deep: `{"data":{"x":${'['.repeat(200_000)}1${']'.repeat(200_000)}}}`,
        'a number': '1',
        'a list': '[{"data":{"x":1}}]',
        JSON5: '{data:{x:1}}',
      };
      for (const [id, body] of Object.entries(bodies)) await inbox.accept(incoming({ id, body }), later());
      await inbox.accept(incoming({ id: 'large', body: `{"pad":"${'x'.repeat(1_000_000)}","data":{"x":1}}` }), later());
      await inbox.accept({ ...invalidThen(orderEvent('invalid')), body: Buffer.from('{"data":{"x":1}}') }, later());
      await handled(
        inbox,
        { outcome: 'processed' },
        { ...orderEvent('pruned'), body: Buffer.from('{"data":{"x":1}}') },
      );
      await kept.bury('pruned');

      expect(await found(inbox, { body: [{ path: 'data.x', value: '1' }] })).toEqual(['invalid', 'large']);
      expect(await found(inbox, { merchant: 'mer_1' })).toEqual([]);
      while ((await inbox.operations?.indexNew(100)) !== 0);
    });

    it('finds a text in any value of a body, in any case, and neither in names nor where it must not look', async () => {
      const bodies: Record<string, string> = {
        deep: '{"data":{"items":[{"by":{"email":"Ada@Shop.example"}}]}}',
        escaped: String.raw`{"data":{"mail":"\u0061da@shop.example"}}`,
        'a name': '{"data":{"ada@shop.example":1}}',
        number: '{"data":{"total":12.50}}',
        word: '{"data":{"is_gift":true}}',
        'not JSON': '{"data":{"email":"ada@shop.example"}',
        large: `{"data":{"x":[${'1,'.repeat(100_000)}1],"email":"ada@shop.example"}}`,
      };
      for (const [id, body] of Object.entries(bodies)) await inbox.accept(incoming({ id, body }), later());
      await kept.bury('pruned');

      expect(await found(inbox, { bodyText: 'ADA@shop' })).toEqual(['large', 'escaped', 'deep']);
      expect(await found(inbox, { bodyText: '12.5000' })).toEqual(['number']);
      expect(await found(inbox, { bodyText: 'true' })).toEqual([]);
      expect(await found(inbox, { bodyText: 'ada@', body: [{ path: 'data.x[0]', value: '1' }] })).toEqual(['large']);
      const except = { bodyTextExcept: ['data.items[].by.email', 'data.x'] };
      expect(await found(inbox, { bodyText: 'ada@shop.example', ...except })).toEqual(['large', 'escaped']);
      expect(await found(inbox, { bodyText: 'ada', bodyTextExcept: ['data'] })).toEqual([]);
    });

    it('error texts are taken as they are, in any case of any alphabet, of the last attempt that has one', async () => {
      const messages = ['100% sure', '1000 sure', 'a_b', 'axb', 'ÇA NE MARCHE PAS', 'it\'s \\ "quoted"'];
      for (const message of messages) {
        const error = { name: 'TillError', message, stack: 'secret stack' };
        await handled(inbox, { outcome: 'retry', error, dueAt: START }, orderEvent(message));
      }
      await handled(inbox, dead('first'), orderEvent('twice'));
      await rerun(inbox, key('twice'));
      await attempt(inbox, key('twice'), dead('second'), START + 10);

      expect(await found(inbox, { error: '%' })).toEqual(['100% sure']);
      expect(await found(inbox, { error: '_' })).toEqual(['a_b']);
      expect(await found(inbox, { error: 'ça ne' })).toEqual(['ÇA NE MARCHE PAS']);
      expect(await found(inbox, { error: 'IT\'S \\ "' })).toEqual(['it\'s \\ "quoted"']);
      expect(await found(inbox, { error: 'TillError: 1000' })).toEqual(['1000 sure']);
      expect(await found(inbox, { error: 'secret stack' })).toEqual([]);
      expect(await found(inbox, { error: 'first' })).toEqual([]);
      expect(await found(inbox, { error: 'second' })).toEqual(['twice']);
      expect(await found(inbox, { error: '' })).toHaveLength(7);
    });

    it.each([
      ['a list of no types', { types: [] }],
      ['a list of no states', { states: [] }],
      ['a list of no reasons', { deadReasons: [] }],
    ])('%s fits nothing', async (_, filter) => {
      await storeIn(inbox, orderEvent('evt_1'));
      expect(await listEvents(inbox, filter)).toEqual({ events: [], next: null, examined: expect.any(Number) });
    });

    it.each<readonly [string, object]>([
      ['an unknown condition', { state: ['dead'] }],
      ['a condition of Object itself', { constructor: 'x' }],
      ['an unknown state', { states: ['died'] }],
      ['one state instead of a list', { states: 'dead' }],
      ['an unknown reason', { deadReasons: ['sad'] }],
      ['a time that is none', { since: new Date(NaN) }],
      ['a time as text', { until: '2026-01-01' }],
      ['a flag as text', { retrying: 'yes' }],
      ['a number for a text', { id: 7 }],
      ['no condition for the body', { body: [null] }],
      ['half a condition for the body', { body: [{ path: 'data.id' }] }],
      ['a path that is none, where not to look', { bodyText: 'x', bodyTextExcept: ['a..b'] }],
      ...['', '.', 'a.', '.a', 'a..b', '[0]', 'a[]', 'a[x]', 'a[-1]', 'a[0', 'a]', 'a[0]b', 'a[99999999999]'].map(
        (path): [string, object] => [`the path ${path}`, { body: [{ path, value: '1' }] }],
      ),
    ])('%s is refused, since it would find more than is meant', async (_, filter) => {
      await storeIn(inbox, orderEvent('evt_1'));
      await expect(listEvents(inbox, filter as EventFilter)).rejects.toMatchObject({
        name: 'ConfigurationError',
        code: 'INVALID_OPTION',
      });
    });

    it.each([0, -1, 1.5, NaN, 501])('a page of %s events is refused', async (limit) => {
      await expect(listEvents(inbox, {}, { limit })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    });
  });

  describe('entities and merchants', () => {
    emptyEach();

    const of = (id: string, type: string, data: object, entity: string | null): IncomingEvent =>
      incoming({ id, type, entity, body: JSON.stringify({ id, type, created: '2026-01-01T00:00:00Z', data }) });

    it.each([
      ['before they are indexed', false],
      ['when they are indexed', true],
    ])('are found by name and by id %s', async (_, indexed) => {
      const events = [
        of('order', 'order.ready', { merchant_id: 'mer_7', id: 'ord_42' }, 'order:mer_7:ord_42'),
        of('colon', 'order.ready', { merchant_id: 'm%3A:x', id: 'a:b%' }, 'order:m%253A%3Ax:a%3Ab%25'),
        of('cart', 'cart.abandoned', { id: 'cart_1' }, 'cart::cart_1'),
        of('stock', 'inventory.updated', { product_id: 'prod_1', location_id: 'loc_1' }, 'inventory::prod_1:loc_1'),
        of('nowhere', 'inventory.updated', { product_id: 'prod_1' }, 'inventory::prod_1:'),
        of('own', 'order.ready', { merchant_id: 'mer_7' }, 'table:7'),
        of('own like ours', 'order.ready', {}, 'order:a:b:c'),
        of('alone', 'shop.opened', { merchant_id: 'mer_8' }, null),
        of('odd merchant', 'order.ready', { merchant_id: { id: 'mer_9' } }, null),
      ];
      for (const event of events) await inbox.accept(event, later());
      await using lock = indexed ? null : await kept.lockIndex();
      expect(lock === null).toBe(indexed);
      if (indexed) while ((await inbox.operations?.indexNew(100)) !== 0);

      const expected: readonly (readonly [EventFilter, readonly string[]])[] = [
        [{ entity: 'order:mer_7:ord_42' }, ['order']],
        [{ entity: 'ord_42' }, ['order']],
        [{ entity: 'ord_4' }, []],
        [{ entity: 'mer_7' }, []],
        [{ entity: 'a:b%' }, ['colon']],
        [{ entity: 'a%3Ab%25' }, []],
        [{ entity: 'cart_1' }, ['cart']],
        [{ entity: 'prod_1' }, ['nowhere', 'stock']],
        [{ entity: 'loc_1' }, ['stock']],
        [{ entity: '' }, []],
        [{ entity: 'table:7' }, ['own']],
        [{ entity: '7' }, []],
        [{ entity: 'c' }, []],
        [{ merchant: 'mer_7' }, ['own', 'order']],
        [{ merchant: 'm%3A:x' }, ['colon']],
        [{ merchant: 'mer_8' }, ['alone']],
        [{ merchant: 'mer_9' }, []],
        [{ merchant: '{"id":"mer_9"}' }, []],
        [{ merchant: 'mer_7', entity: 'ord_42' }, ['order']],
      ];
      // At the same time, since each of them waits a while for a lock.
      const pages = await Promise.all(expected.map(([filter]) => found(inbox, filter)));
      expect(pages).toEqual(expected.map(([, ids]) => ids));
    });

    it('become indexed by being searched', async () => {
      await Promise.all(
        Array.from({ length: 300 }, (_, n) => storeIn(inbox, orderEvent(`evt_${n}`, { order: `ord_${n}` }))),
      );
      const examined: number[] = [];
      for (let time = 0; time < 10; time += 1) {
        examined.push((await listEvents(inbox, { entity: 'ord_0' })).examined);
      }
      expect(examined.at(-1)).toBe(1);
      expect(await inbox.operations?.indexNew(1)).toBe(0);
    });

    it('are indexed a batch at a time, and how many are left is told', async () => {
      for (let n = 0; n < 7; n += 1) await storeIn(inbox, orderEvent(`evt_${n}`));
      expect(await inbox.operations?.indexNew(3)).toBe(4);
      expect(await inbox.operations?.indexNew(3)).toBe(1);
      expect(await inbox.operations?.indexNew(3)).toBe(0);
      expect(await inbox.operations?.indexNew(3)).toBe(0);
    });

    it.each([
      ['after it was indexed', true],
      ['before it is', false],
    ])('are those of the body that took the place of another, %s', async (_, indexed) => {
      const index = async (): Promise<void> => {
        while ((await inbox.operations?.indexNew(10)) !== 0);
      };
      const first = of('evt_1', 'order.ready', { merchant_id: 'mer_1', id: 'ord_1' }, 'order:mer_1:ord_1');
      const second = of('evt_1', 'order.ready', { merchant_id: 'mer_2', id: 'ord_2' }, 'order:mer_2:ord_2');
      await inbox.accept({ ...first, verified: false }, later());
      await inbox.accept(invalidThen(of('evt_2', 'order.ready', { merchant_id: 'mer_1' }, null)), later());
      if (indexed) await index();
      await inbox.accept(second, later());
      await inbox.accept({ ...second, id: 'evt_2' }, later());
      await index();

      for (const filter of [{ entity: 'ord_1' }, { entity: 'order:mer_1:ord_1' }, { merchant: 'mer_1' }]) {
        expect(await found(inbox, filter)).toEqual([]);
      }
      for (const filter of [{ entity: 'ord_2' }, { entity: 'order:mer_2:ord_2' }, { merchant: 'mer_2' }]) {
        expect(await found(inbox, filter)).toEqual(['evt_2', 'evt_1']);
      }
    });

    it.each([
      ['before they are indexed', false],
      ['when they are indexed', true],
    ])('of events without one are those that their bodies name, %s', async (_, indexed) => {
      const data = { merchant_id: 'mer_7', id: 'ord_2' };
      const events = [
        invalidThen(of('invalid', 'order.ready', { ...data, items: 'none' }, null)),
        of('unknown', 'refund.made', { id: 'ref_1', order_id: 'ord_2', cart_id: 'cart_2', product_id: 'prod_2' }, null),
        of('alone', 'order.ready', data, null),
        of('number', 'refund.made', { id: 42, order_id: { id: 'ord_2' }, cart_id: null, product_id: '' }, null),
        of('named otherwise', 'order.ready', data, 'table:7'),
        { ...invalidThen(orderEvent('no JSON')), body: Buffer.from('{"data":{"id":"ord_2"}') },
      ];
      for (const event of events) await inbox.accept(event, later());
      await using lock = indexed ? null : await kept.lockIndex();
      expect(lock === null).toBe(indexed);
      if (indexed) while ((await inbox.operations?.indexNew(100)) !== 0);

      const expected = {
        ord_2: ['alone', 'unknown', 'invalid'],
        'order:mer_7:ord_2': ['alone', 'invalid'],
        ref_1: ['unknown'],
        cart_2: ['unknown'],
        prod_2: ['unknown'],
        '42': ['number'],
        mer_7: [],
        null: [],
        '': [],
      };
      const pages = await Promise.all(Object.keys(expected).map((entity) => found(inbox, { entity })));
      expect(pages).toEqual(Object.values(expected));
      expect(await found(inbox, { body: [{ path: 'data.items', value: 'none' }] })).toEqual(['invalid']);
    });

    it('are known of an invalid event once a rerun has made it valid', async () => {
      await storeIn(
        inbox,
        invalidThen(orderEvent('evt_1', { order: 'ord_1' })),
        invalidThen(orderEvent('evt_2', { order: 'ord_1' })),
      );
      while ((await inbox.operations?.indexNew(10)) !== 0);
      const own = { entity: () => 'table:7' };
      expect(await found(inbox, { entity: 'table:7' })).toEqual([]);
      await rerun(inbox, key('evt_1'), own);
      await rerunEvents(inbox, [key('evt_2')], { actor: 'ada' }, own);
      expect(await found(inbox, { entity: 'table:7' })).toEqual(['evt_2', 'evt_1']);
    });

    it('stay known of what was pruned', async () => {
      const event = of('evt_1', 'order.ready', { merchant_id: 'mer_7', id: 'ord_42' }, 'order:mer_7:ord_42');
      await handled(inbox, { outcome: 'processed' }, event);
      await kept.bury('evt_1');
      for (const filter of [{ entity: 'ord_42' }, { merchant: 'mer_7' }]) {
        expect(await found(inbox, filter)).toEqual(['evt_1']);
      }
    });
  });
});

/** The strings and numbers of a body, without names. */
function valuesIn({ body }: StoredEvent): readonly string[] {
  const text = body === null ? '' : Buffer.from(body).toString();
  const tokens = [...text.matchAll(/("(?:\\.|[^"\\])*"|-?\d[\d.eE+-]*)(:?)/g)];
  return tokens.flatMap(([, value = '', colon]) => (colon === ':' ? [] : value.toUpperCase()));
}
