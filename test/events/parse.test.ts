import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import expectations from '../../fixtures/edge/expectations.json' with { type: 'json' };
import { entityOf } from '../../src/events/entity.ts';
import { eventTypes } from '../../src/events/event-types.ts';
import { isKnown } from '../../src/events/known-event.ts';
import { parseEvent, readEvent, type ParsedEvent } from '../../src/events/parse.ts';

const utf8 = new TextEncoder();

function fixture(path: string): Uint8Array {
  return readFileSync(new URL(`../../fixtures/${path}`, import.meta.url));
}

function parse(text: string): ParsedEvent {
  return parseEvent(utf8.encode(text));
}

/** The event of a body that is expected to hold one. */
function eventOf(text: string): object {
  const parsed = parse(text);
  if (!parsed.ok) throw new Error(`invalid: ${JSON.stringify(parsed.issues)}`);
  return parsed.event;
}

function envelope(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ id: 'evt_1', type: 'order.ready', created: '2026-03-14T08:22:30Z', data: {}, ...fields });
}

function without(field: string): string {
  return envelope({ [field]: undefined });
}

describe('the fixtures', () => {
  it.each(eventTypes)('%s is a known event of that type, just as JSON.parse reads it', (type) => {
    const bytes = fixture(`${type}.json`);
    const parsed = parseEvent(bytes);
    expect(parsed).toEqual({ ok: true, known: true, event: JSON.parse(new TextDecoder().decode(bytes)), issues: [] });
    expect(parsed).toHaveProperty('event.type', type);
    expect(parsed.ok && isKnown(parsed.event)).toBe(true);
    expect(parsed.ok && entityOf(parsed.event)).toMatch(new RegExp(`^${type.split('.')[0]}:`));
  });

  it.each(Object.entries(expectations))('edge/%s is as expected: $expect', (name, { expect: expected, issues }) => {
    const parsed = parseEvent(fixture(`edge/${name}.json`));
    const found = parsed.ok ? (parsed.known ? 'known' : 'unknown') : parsed.id === null ? 'rejected' : 'invalid';
    expect(found).toBe(expected);
    expect(parsed.issues.length).toBeGreaterThanOrEqual(issues);
    if (issues === 0) expect(parsed.issues).toEqual([]);
  });

  it('edge/created-with-offset is the instant it says, to the microsecond', () => {
    expect(readEvent(fixture('edge/created-with-offset.json')).facts).toEqual({
      type: 'order.created',
      created: { ms: Date.UTC(2026, 2, 14, 8, 2, 11, 480), ns: 123_000 },
    });
  });
});

describe('what is no event at all', () => {
  it.each<[string, Uint8Array]>([
    ['no bytes', new Uint8Array()],
    ['a byte that is never UTF-8', Uint8Array.of(0xff)],
    ['an overlong encoding', Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)],
    ['a surrogate in UTF-8', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)],
    ['a character cut short', utf8.encode('{"id":"é"}').slice(0, 8)],
    ['UTF-16', Buffer.from('{"id":"evt_1"}', 'utf16le')],
    ['two byte order marks', utf8.encode(`\ufeff\ufeff${envelope({})}`)],
    ['a byte order mark within', utf8.encode(` \ufeff${envelope({})}`)],
    ['white space', utf8.encode(' \n')],
    ['a comment', utf8.encode(`${envelope({})} // ok`)],
    ['two texts', utf8.encode(envelope({}).repeat(2))],
    ['single quotes', utf8.encode("{'id':'evt_1'}")],
    ['a trailing comma', utf8.encode('{"id":"evt_1",}')],
    ['NaN', utf8.encode('{"id":"evt_1","data":NaN}')],
    ['a raw newline in a string', utf8.encode('{"id":"evt\n1"}')],
    ['null', utf8.encode('null')],
    ['a number', utf8.encode('1')],
    ['a string', utf8.encode('"evt_1"')],
    ['an array', utf8.encode(`[${envelope({})}]`)],
    ['an object without an id', utf8.encode(without('id'))],
  ])('%s: no id, no facts, and one issue that says why', (_, bytes) => {
    const { parsed, facts } = readEvent(bytes);
    expect(parsed).toEqual({
      ok: false,
      id: null,
      issues: [{ path: expect.any(String), message: expect.any(String) }],
    });
    expect(facts).toBeNull();
  });

  it.each(['', ' \r\n'])('may have a byte order mark before it and %j', (space) => {
    expect(parse(`\ufeff${space}${envelope({})}`)).toMatchObject({ ok: true, known: true, event: { id: 'evt_1' } });
    expect(parse(`\ufeff${space}{"id":"evt_1","id":"evt_1"}`)).toMatchObject({ ok: false, id: 'evt_1' });
  });

  it('may have white space around it, which JSON allows', () => {
    expect(parse(` \r\n\t${envelope({})}\n`)).toMatchObject({ ok: true });
  });
});

describe('the id', () => {
  const pair = '\u{1F950}'; // one character, two UTF-16 units, four bytes

  it.each<[string, string]>([
    ['1 character', 'x'],
    ['255 characters', 'x'.repeat(255)],
    ['255 characters beyond the BMP', pair.repeat(255)],
    ['255 characters, some beyond the BMP', `${'x'.repeat(100)}${pair.repeat(155)}`],
    ['a space', ' '],
    ['text of any script', 'événement-事件-حدث'],
    ['control characters', 'a\u0000b\nc'],
    ['a name on Object.prototype', 'constructor'],
  ])('may be %s', (_, id) => {
    expect(parse(envelope({ id }))).toMatchObject({ ok: true, event: { id } });
  });

  it.each<[string, unknown]>([
    ['the empty string', ''],
    ['256 characters', 'x'.repeat(256)],
    ['256 characters beyond the BMP', pair.repeat(256)],
    ['256 characters, one beyond the BMP', `${'x'.repeat(255)}${pair}`],
    ['a megabyte', 'x'.repeat(1_000_000)],
    ['a lone high surrogate', 'evt_\ud800'],
    ['a lone low surrogate', '\udc00evt'],
    ['a surrogate pair the wrong way round', '\udc00\ud800'],
    ['a number', 1],
    ['0', 0],
    ['true', true],
    ['null', null],
    ['an array', ['evt_1']],
    ['an object', { id: 'evt_1' }],
  ])('may not be %s', (_, id) => {
    expect(parse(envelope({ id }))).toEqual({
      ok: false,
      id: null,
      issues: [{ path: 'id', message: expect.stringMatching(/1 to 255 characters/) }],
    });
  });

  it('may be spelled with escapes', () => {
    expect(parse(envelope({}).replace('evt_1', '\\u0065vt\\u005f1'))).toMatchObject({ event: { id: 'evt_1' } });
    expect(parse(envelope({}).replace('evt_1', '\\ud83e\\udd50'))).toMatchObject({ event: { id: pair } });
  });

  it('is never one that an object merely inherits', () => {
    expect(parse('{"__proto__":{"id":"evt_1"},"type":"order.ready"}')).toMatchObject({ ok: false, id: null });
    expect(parse('{"\\u005f_proto__":{"id":"evt_1"}}')).toMatchObject({ ok: false, id: null });
  });
});

describe('the envelope', () => {
  it.each(['type', 'created', 'data'])('without %s is invalid, known by its id, and the issue says where', (field) => {
    expect(parse(without(field))).toEqual({
      ok: false,
      id: 'evt_1',
      issues: [{ path: field, message: expect.any(String) }],
    });
  });

  it.each([
    ['type', [null, 1, true, {}, ['order.ready']]],
    ['created', [null, 1_773_475_331, true, {}, ['2026-03-14T08:22:30Z']]],
    ['data', [null, 'text', 1, true, [], [{}]]],
  ])('with a wrong type in %s is invalid, and the issue says where', (field, values) => {
    for (const type of ['order.ready', 'cart.abandoned', 'inventory.updated', 'order.refunded']) {
      for (const value of values) {
        expect(parse(envelope({ type, [field]: value }))).toMatchObject({
          ok: false,
          id: 'evt_1',
          issues: [{ path: field }],
        });
      }
    }
  });

  it.each(['2026-03-14', '2026-02-30T00:00:00Z', 'yesterday', ''])(
    'is invalid when created is %j, no date-time',
    (created) => {
      for (const type of ['order.ready', 'order.refunded']) {
        const { parsed, facts } = readEvent(utf8.encode(envelope({ type, created })));
        expect(parsed).toMatchObject({ ok: false, id: 'evt_1', issues: [{ path: 'created' }] });
        expect(facts).toEqual({ type, created: null });
      }
    },
  );

  it('tells the instant of created, with the type, to who stores it', () => {
    expect(readEvent(utf8.encode(envelope({ created: '2026-03-14T10:22:30.000001+02:00' }))).facts).toEqual({
      type: 'order.ready',
      created: { ms: Date.UTC(2026, 2, 14, 8, 22, 30), ns: 1_000 },
    });
  });

  it('tells the type of an invalid event where it can be read, and null where it cannot', () => {
    expect(readEvent(utf8.encode(envelope({ data: [] }))).facts).toEqual({ type: 'order.ready', created: null });
    expect(readEvent(utf8.encode(envelope({ type: 'new.kind', data: [] }))).facts).toEqual({
      type: 'new.kind',
      created: null,
    });
    expect(readEvent(utf8.encode(envelope({ type: 1 }))).facts).toEqual({ type: null, created: null });
  });

  it('keeps fields that nobody knows yet, at every level', () => {
    const event = {
      id: 'evt_1',
      type: 'order.ready',
      created: '2026-03-14T08:22:30Z',
      livemode: true,
      data: { id: 'ord_1', tip: 3, items: [{ product_id: 'prod_1', options: [{ name: 'sliced' }] }] },
    };
    expect(parse(JSON.stringify(event))).toEqual({ ok: true, known: true, event, issues: [] });
  });
});

describe('an unknown type', () => {
  it.each([
    'order.refunded',
    'Order.Ready',
    'order.ready ',
    '',
    'toString',
    'constructor',
    '__proto__',
    'hasOwnProperty',
  ])('%j is passed on as it is, whatever its data', (type) => {
    const data = { object: 'cart', total: 'thirty', items: 'none', constructor: { prototype: {} }, hasOwnProperty: 1 };
    const parsed = parse(envelope({ type, data }));
    expect(parsed).toEqual({
      ok: true,
      known: false,
      event: { id: 'evt_1', type, created: '2026-03-14T08:22:30Z', data },
      issues: [],
    });
    expect(parsed.ok && isKnown(parsed.event)).toBe(false);
  });
});

describe('data.object', () => {
  it.each(eventTypes)('of %s may say another thing: that is an issue, and the event stays known', (type) => {
    const family = type.slice(0, type.indexOf('.'));
    for (const object of ['order', 'inventory', 'cart', 'Order', '', 'anything']) {
      const parsed = parse(envelope({ type, data: { object } }));
      expect(parsed).toMatchObject({ ok: true, known: true, event: { type, data: { object } } });
      expect(parsed.issues.map(({ path }) => path)).toEqual(object === family ? [] : ['data.object']);
      if (object !== family) expect(parsed.issues[0]?.message).toContain(family);
    }
  });
});

describe('times in data', () => {
  it.each([
    ['order.ready', 'estimated_ready_time'],
    ['cart.abandoned', 'last_activity'],
  ])('of %s: %s that is no date-time is an issue, and the event stays known', (type, field) => {
    expect(parse(envelope({ type, data: { [field]: 'soon' } }))).toMatchObject({
      ok: true,
      known: true,
      event: { data: { [field]: 'soon' } },
      issues: [{ path: `data.${field}` }],
    });
    expect(parse(envelope({ type, data: { [field]: '2026-03-14T08:22:30+01:00' } })).issues).toEqual([]);
  });
});

describe('numbers', () => {
  it.each([
    ['30.05', 30.05],
    ['6.50', 6.5],
    ['1E2', 100],
    ['-0', -0],
    ['0.1', 0.1],
    ['9007199254740993', 2 ** 53],
    ['1e-400', 0],
    ['123456789012345678901234567890', 1.2345678901234568e29],
    ['1.7976931348623157e308', Number.MAX_VALUE],
  ])('%s is what JSON.parse makes of it', (text, value) => {
    const parsed = eventOf(
      `{"id":"evt_1","type":"order.ready","created":"2026-03-14T08:22:30Z","data":{"total":${text}}}`,
    );
    expect(parsed).toHaveProperty('data.total', value);
    expect(JSON.parse(text)).toBe(value);
  });

  it('may be beyond every bound in fields nobody knows', () => {
    const event = eventOf(envelope({ data: { score: 0 } }).replace('"score":0', '"score":1e999'));
    expect(event).toHaveProperty('data.score', Infinity);
  });
});

describe('a key named __proto__', () => {
  afterEach(() => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect({}).not.toHaveProperty('polluted');
  });

  const plain = '__proto__';
  const escaped = (letter: number, upper: boolean): string => {
    const hex = plain.charCodeAt(letter).toString(16).padStart(4, '0');
    return `${plain.slice(0, letter)}\\u${upper ? hex.toUpperCase() : hex}${plain.slice(letter + 1)}`;
  };
  const spellings = [
    plain,
    ...[...plain].flatMap((_, letter) => [escaped(letter, false), escaped(letter, true)]),
    [...plain].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  ];

  it.each([...new Set(spellings)])('spelled %s is dropped wherever it stands, and the rest is kept', (spelling) => {
    expect(JSON.parse(`"${spelling}"`)).toBe(plain);
    const text =
      `{"id":"evt_1","type":"order.ready","created":"2026-03-14T08:22:30Z","${spelling}":{"polluted":1},` +
      `"data":{"${spelling}":{"polluted":2},"id":"ord_1","more":[{"${spelling}":null,"kept":true},[{"${spelling}":[]}]],` +
      `"deep":{"deep":{"${spelling}":{"${spelling}":{"polluted":3}}}}}}`;
    const event = eventOf(text);
    expect(event).toEqual({
      id: 'evt_1',
      type: 'order.ready',
      created: '2026-03-14T08:22:30Z',
      data: { id: 'ord_1', more: [{ kept: true }, [{}]], deep: { deep: {} } },
    });
    expect(ownProtoKeys(event)).toBe(0);
    expect(Object.getPrototypeOf(event)).toBe(Object.prototype);
    expect(event).not.toHaveProperty('polluted');
  });

  it('does not reach a handler that copies an event key by key', () => {
    const event = eventOf(envelope({}).replace('"data":{}', '"data":{"__proto__":{"polluted":true}}'));
    const copy: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(Object.entries(event)[3]?.[1] ?? {})) copy[key] = value;
    expect(copy).not.toHaveProperty('polluted');
  });

  it('is dropped from unknown events and from those of every depth', () => {
    const depth = 50_000;
    const nested = `${'{"a":'.repeat(depth)}{"__proto__":1}${'}'.repeat(depth)}`;
    let inner: unknown = eventOf(`{"id":"evt_1","type":"new","created":"2026-03-14T08:22:30Z","data":${nested}}`);
    inner = Object.entries(inner as object)[3]?.[1];
    for (let level = 0; level < depth; level += 1) inner = Object.values(inner as object)[0];
    expect(Object.getOwnPropertyNames(inner)).toEqual([]);
  });

  it('leaves strings that only look like it alone', () => {
    const data = { status: '__proto__', note: '"__proto__":1', proto__: 1, __proto: 2, ['__proto__ ']: 3 };
    expect(eventOf(envelope({ data }))).toMatchObject({ data });
  });

  function ownProtoKeys(value: unknown): number {
    if (typeof value !== 'object' || value === null) return 0;
    const inner = Object.values(value).reduce<number>((sum, one) => sum + ownProtoKeys(one), 0);
    return inner + (Object.hasOwn(value, '__proto__') ? 1 : 0);
  }
});

describe('a key that the envelope has twice', () => {
  const rest = '"created":"2026-03-14T08:22:30Z","data":{}';

  it.each([
    ['type', `{"id":"evt_1","type":"order.ready","type":"order.failed",${rest}}`],
    ['type, with the same value', `{"id":"evt_1","type":"order.ready","type":"order.ready",${rest}}`],
    ['type, once spelled with an escape', `{"id":"evt_1","type":"order.ready","t\\u0079pe":"order.failed",${rest}}`],
    ['data', `{"id":"evt_1","type":"order.ready",${rest},"data":{"total":1}}`],
  ])('makes it invalid: %s', (name, text) => {
    expect(parse(text)).toEqual({
      ok: false,
      id: 'evt_1',
      issues: [{ path: name.split(',')[0], message: expect.stringMatching(/twice/) }],
    });
  });

  it('makes it invalid when it is the id, and the id is the one that JSON.parse reads', () => {
    expect(parse(`{"id":"evt_1","id":"evt_2","type":"order.ready",${rest}}`)).toMatchObject({
      ok: false,
      id: 'evt_2',
      issues: [{ path: 'id' }],
    });
    expect(parse(`{"id":"evt_1","\\u0069d":"evt_2","type":"order.ready",${rest}}`)).toMatchObject({
      ok: false,
      id: 'evt_2',
    });
  });

  it('makes it invalid when nobody knows the key, and the issue does not repeat it', () => {
    const parsed = parse(`{"id":"evt_1","type":"order.ready","secret_note":1,"secret_note":2,${rest}}`);
    expect(parsed).toEqual({ ok: false, id: 'evt_1', issues: [{ path: '', message: expect.any(String) }] });
    expect(JSON.stringify(parsed)).not.toContain('secret_note');
  });

  it('counts for unknown types too', () => {
    expect(parse(`{"id":"evt_1","type":"new","type":"newer",${rest}}`)).toMatchObject({ ok: false, id: 'evt_1' });
  });

  it('is no matter inside data', () => {
    const text = `{"id":"evt_1","type":"order.ready","created":"2026-03-14T08:22:30Z","data":{"total":1,"total":2}}`;
    expect(parse(text)).toMatchObject({ ok: true, issues: [], event: { data: { total: 2 } } });
  });
});

describe('issues', () => {
  const marker = 'MARKER-4711';
  const fields = [
    'object',
    'id',
    'status',
    'merchant_id',
    'user_id',
    'total',
    'currency',
    'items',
    'estimated_ready_time',
    'fulfillment_method',
    'special_instructions',
    'product_id',
    'location_id',
    'previous_quantity',
    'current_quantity',
    'last_activity',
    'total_value',
    'item_count',
  ];

  it.each([
    ['not UTF-8', Buffer.concat([utf8.encode(`{"id":"${marker}`), Buffer.of(0xff)])],
    ['not JSON', utf8.encode(`{"id":"${marker}",${marker}`)],
    ['not an object', utf8.encode(`["${marker}"]`)],
    ['an id too long', utf8.encode(envelope({ id: marker.repeat(100) }))],
    ['an id with a lone surrogate', utf8.encode(`{"id":"${marker}\\ud800"}`)],
    ['an id that is an object', utf8.encode(envelope({ id: { [marker]: marker } }))],
    ['type', utf8.encode(envelope({ type: { [marker]: marker } }))],
    ['an unknown type', utf8.encode(envelope({ type: marker, data: [marker] }))],
    ['created', utf8.encode(envelope({ created: marker }))],
    ['created of the wrong type', utf8.encode(envelope({ created: [marker] }))],
    ['data', utf8.encode(envelope({ data: marker }))],
    ['an unknown key twice', utf8.encode(`{"id":"evt_1","${marker}":1,"${marker}":2}`)],
    ['a known key twice', utf8.encode(`{"id":"evt_1","type":"${marker}","type":"${marker}"}`)],
  ])('never hold what stood in the body: %s', (_, body) => {
    const { issues } = parseEvent(body);
    expect(issues.length).toBeGreaterThan(0);
    expect(JSON.stringify(issues)).not.toContain(marker);
    expect(JSON.stringify(issues)).not.toContain('4711');
  });

  it.each(eventTypes)('never hold a value or an unknown key of %s, whichever field is wrong', (type) => {
    const wrong: readonly unknown[] = [marker, [marker], { [marker]: marker }, [[{ [marker]: marker }]], 4711, 47.11];
    let faults = 0;
    for (const field of fields) {
      for (const value of wrong) {
        const { issues } = parse(envelope({ type, data: { [field]: value, [marker]: marker } }));
        faults += issues.length;
        expect(JSON.stringify(issues)).not.toContain(marker);
        expect(JSON.stringify(issues)).not.toMatch(/47\.?11/);
      }
    }
    expect(faults).toBeGreaterThan(20);
  });

  it('never hold a value, wherever arbitrary JSON puts it', () => {
    const value = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constant(marker),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(marker, ...fields), tie('tree'), { maxKeys: 4 }),
      ),
    })).tree;
    let faults = 0;
    fc.assert(
      fc.property(fc.constantFrom(...eventTypes, marker), value, value, (type, data, created) => {
        const time = typeof created === 'string' ? created : '2026-03-14T08:22:30Z';
        const { issues } = parse(envelope({ type, data, created: time }));
        faults += issues.length;
        expect(JSON.stringify(issues)).not.toContain(marker);
      }),
      { numRuns: 3_000 },
    );
    expect(faults).toBeGreaterThan(1_000);
  });
});
