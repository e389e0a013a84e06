import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/errors.ts';
import { createMask, MASKED } from '../../../src/ops/body/mask.ts';

function masked(paths: readonly string[], body: string | Uint8Array): string {
  return Buffer.from(createMask(paths).mask(Buffer.from(body))).toString();
}

describe('a masked body', () => {
  test.for([
    [['data.email'], '{"data":{"email":"ada@shop.example","id":1}}', '{"data":{"email":"•••","id":1}}'],
    [['data.email'], '{"data" : {\n\t"email" :\t12.50 } }', '{"data" : {\n\t"email" :\t"•••" } }'],
    [['data.email'], '{"data":{"email":null},"email":"stays"}', '{"data":{"email":"•••"},"email":"stays"}'],
    [['data'], '{"data":{"a":[1,{"b":"}"}]},"id":"x"}', '{"data":"•••","id":"x"}'],
    [['data.a'], '{"data":{"a":[[[]],{}],"b":[]}}', '{"data":{"a":"•••","b":[]}}'],
    [['a'], '{"a":1,"a":2,"\\u0061":3,"\\\\u0061":4}', '{"a":"•••","a":"•••","\\u0061":"•••","\\\\u0061":4}'],
    [
      ['data.items[].name'],
      '{"data":{"items":[{"name":"x","n":1},{"name":"y"}]}}',
      '{"data":{"items":[{"name":"•••","n":1},{"name":"•••"}]}}',
    ],
    [
      ['data.items[1].name'],
      '{"data":{"items":[{"name":"x"},{"name":"y"}]}}',
      '{"data":{"items":[{"name":"x"},{"name":"•••"}]}}',
    ],
    // Forgotten brackets mask no less.
    [
      ['data.items.name'],
      '{"data":{"items":[{"name":"x"},[{"name":"y"}]]}}',
      '{"data":{"items":[{"name":"•••"},[{"name":"•••"}]]}}',
    ],
    [['a.b', 'a[0].c'], '{"a":[{"b":1,"c":2},{"b":3,"c":4}]}', '{"a":[{"b":"•••","c":"•••"},{"b":"•••","c":4}]}'],
    [['a[][]'], '{"a":[[1,2],[3]]}', '{"a":[["•••","•••"],["•••"]]}'],
    [['a[]'], '{"a":[1,"2",{"b":3}]}', '{"a":["•••","•••","•••"]}'],
    [['a[0]'], '{"a":{"0":"an object has names"}}', '{"a":{"0":"an object has names"}}'],
    [['a', 'a.b'], '{"a":{"b":1}}', '{"a":"•••"}'],
    [['__proto__.x'], '{"__proto__":{"x":1},"constructor":{"x":2}}', '{"__proto__":{"x":"•••"},"constructor":{"x":2}}'],
    [['x'], '{"y":"a \\"x\\": 1, {","x":"\\\\"}', '{"y":"a \\"x\\": 1, {","x":"•••"}'],
    [['x'], '{"n":[-0.0,1E400,12.50]}', '{"n":[-0.0,1E400,12.50]}'],
    [['x'], '[]', '[]'],
    [['a'], '\uFEFF{"a":1}', '{"a":"•••"}'],
  ] as const)('%j in %s', ([paths, body, expected]) => {
    expect(masked(paths, body)).toBe(expected);
  });

  test.for([['not JSON'], [''], ['{"a":1']] as const)('hides all of %j, which cannot be read', ([body]) => {
    expect(masked(['a'], body)).toBe('"•••"');
  });

  test('hides all of what is no UTF-8', () => {
    expect(masked(['a'], Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBe('"•••"');
  });

  test('is the very same where nothing is to be masked', () => {
    const body = Buffer.from('{"a":1');
    expect(createMask([]).mask(body)).toBe(body);
    expect(createMask([]).masks).toBe(false);
  });

  test('has the secret nowhere, and everything else as it was, whatever JSON it is', () => {
    const secret = 'the secret of ada';
    const names = fc.constantFrom('a', 'b', 'items');
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small' }, fc.constantFrom(1.5, null, true, 'text'), tie('object'), tie('list')),
      object: fc.dictionary(names, tie('value'), { maxKeys: 3 }),
      list: fc.array(tie('value'), { maxLength: 3 }),
    }));
    const holds = fc.property(
      fc.dictionary(names, value),
      fc.array(names, { minLength: 1, maxLength: 3 }),
      (data, path) => {
        const planted = plant(data, path, secret);
        const shown = masked([path.join('.')], JSON.stringify(planted));
        expect(shown).not.toContain(secret);
        expect(JSON.parse(shown)).toEqual(withoutPath(planted, path));
      },
    );
    fc.assert(holds, { numRuns: 200 });
  });

  test('is there in time for a megabyte of anything', () => {
    const bodies = [
      `{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`,
      `{"a":"${'\\\\'.repeat(500_000)}"}`,
      `{"a":[${'1,'.repeat(500_000)}1]}`,
      `{${'"b":{'.repeat(150_000)}"a":1${'}'.repeat(150_000)}}`,
    ];
    for (const body of bodies) expect(masked(['a.x.y', 'b.a'], body).length).toBeGreaterThan(0);
  });
});

describe('a search for what is masked', () => {
  const { refusal } = createMask(['data.customer.email', 'data.items[].name']);
  const asking = (path: string): string | null => refusal({ body: [{ path, value: 'x' }] });

  test.for([
    ['data.customer.email', true],
    // All of it would tell a part of it.
    ['data.customer', true],
    ['data', true],
    ['data.customer.email.domain', true],
    ['data.items[0].name', true],
    ['data.items[17]', true],
    ['data.customer.emails', false],
    ['data.customer.name', false],
    ['data.total', false],
    ['customer.email', false],
    ['data.items[0].price', false],
    ['data["customer"].email', true],
    ['$.data.customer.email', false],
  ] as const)('by %s is refused: %s', ([path, expected]) => {
    expect(asking(path) !== null).toBe(expected);
  });

  test('in all of the body leaves the masked fields out, and without that is refused', () => {
    const { narrowed } = createMask(['data.customer.email', 'data.items[].name']);
    const filter = narrowed({ bodyText: 'ada' });
    expect(filter).toEqual({ bodyText: 'ada', bodyTextExcept: ['data.customer.email', 'data.items[].name'] });
    expect(refusal(filter)).toBeNull();
    expect(refusal({ bodyText: 'ada', bodyTextExcept: ['data.items[].name'] })).toContain('are masked on this page');
    expect(narrowed({ text: 'ada' })).toEqual({ text: 'ada' });
  });

  test('says why, and lets filters without it through', () => {
    expect(asking('data.customer.email')).toBe(
      'data.customer.email is masked on this page, so you cannot search for its values here.',
    );
    expect(refusal({ merchant: 'mer_7', types: ['order.created'] })).toBeNull();
    expect(createMask(['data.merchant_id']).refusal({ merchant: 'mer_7' })).toContain('data.merchant_id');
  });
});

test.for([
  [''],
  ['.'],
  ['a..b'],
  ['a.'],
  ['.a'],
  ['[]'],
  ['a[x]'],
  ['a[-1]'],
  ['a]'],
  [7 as unknown as string],
] as const)('%j is no path', ([path]) => {
  expect(() => createMask([path])).toThrow(ConfigurationError);
});

function plant(data: unknown, [name = '', ...rest]: readonly string[], secret: string): Record<string, unknown> {
  const object = isObject(data) ? { ...data } : {};
  return { ...object, [name]: rest.length === 0 ? secret : plant(object[name], rest, secret) };
}

function withoutPath(value: unknown, path: readonly string[]): unknown {
  if (path.length === 0) return MASKED;
  if (Array.isArray(value)) return value.map((each: unknown) => withoutPath(each, path));
  if (!isObject(value)) return value;
  const [name, ...rest] = path;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, key === name ? within(each, rest) : each]),
  );
}

function within(value: unknown, rest: readonly string[]): unknown {
  return rest.length === 0 ? MASKED : withoutPath(value, rest);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
