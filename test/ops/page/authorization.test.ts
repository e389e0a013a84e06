import { describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../../src/errors.ts';
import { createAuthorization, type AuthorizationOptions } from '../../../src/page/safety/authorization.ts';
import type { Visitor } from '../../../src/page/visit.ts';

const ADA = { user: 'ada', password: 'pass:wörd', role: 'operator' } as const;
const VIC = { user: 'vic', password: 'another' } as const;
const ROBOT = { token: 'a-token', name: 'prometheus' } as const;

function asking(options: AuthorizationOptions, authorization?: string): Promise<unknown> {
  const headers = authorization === undefined ? {} : { authorization };
  return createAuthorization(options)(new Request('http://shop.example/ops', { headers }));
}

function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

const CHALLENGE = 'Basic realm="hookbox", charset="UTF-8"';

describe('users with a password', () => {
  test.for([
    [basic('ada:pass:wörd'), { visitor: { role: 'operator', name: 'ada' } }],
    ['bAsIc   YWRhOnBhc3M6d8O2cmQ=', { visitor: { role: 'operator', name: 'ada' } }],
    [basic('vic:another'), { visitor: { role: 'viewer', name: 'vic' } }],
    [basic('vic:pass:wörd'), { refused: 401, challenges: [CHALLENGE] }],
    [basic('ada:pass'), { refused: 401, challenges: [CHALLENGE] }],
    [basic('ada:pass:wörd '), { refused: 401, challenges: [CHALLENGE] }],
    [basic('ada'), { refused: 401, challenges: [CHALLENGE] }],
    [basic(''), { refused: 401, challenges: [CHALLENGE] }],
    ['Basic', { refused: 401, challenges: [CHALLENGE] }],
    ['Basic YWRh YWRh', { refused: 401, challenges: [CHALLENGE] }],
    ['Bearer pass:wörd'.normalize('NFC').replace('ö', 'o'), { refused: 401, challenges: [CHALLENGE] }],
    [undefined, { refused: 401, challenges: [CHALLENGE] }],
  ] as const)('%s', async ([header, verdict]) => {
    expect(await asking({ basic: [ADA, VIC] }, header)).toMatchObject(verdict);
  });

  test.for([
    { user: '', password: 'x' },
    { user: 'a:b', password: 'x' },
    { user: 'ada', password: '' },
    { user: 'ada', password: '  ' },
    { user: 'ada', password: 'undefined' },
    { user: 'ada', password: undefined },
    { user: 'ada', password: 'x', role: 'admin' as unknown as Visitor['role'] },
  ])('refuses to begin with %j', (user) => {
    expect(() => createAuthorization({ basic: [user] })).toThrow(ConfigurationError);
  });
});

describe('tokens', () => {
  test.for([
    ['Bearer a-token', { visitor: { role: 'viewer', name: 'prometheus' } }],
    ['Bearer a-token2', { refused: 401, challenges: ['Bearer realm="hookbox"'] }],
    ['Bearer A-TOKEN', { refused: 401, challenges: ['Bearer realm="hookbox"'] }],
    ['Bearer', { refused: 401, challenges: ['Bearer realm="hookbox"'] }],
    [basic('a-token:'), { refused: 401, challenges: ['Bearer realm="hookbox"'] }],
  ] as const)('%s', async ([header, verdict]) => {
    expect(await asking({ bearer: [ROBOT] }, header)).toEqual(verdict);
  });

  test('an empty one is no token', () => {
    for (const token of ['', undefined]) {
      expect(() => createAuthorization({ bearer: [{ token }] })).toThrow(/bearer\[0\]\.token must not be empty/);
    }
  });
});

describe('your own login', () => {
  test('says who it is, or nobody', async () => {
    const ada = { role: 'operator', name: 'ada' } as const;
    expect(await asking({ authorize: () => ada })).toEqual({ visitor: ada });
    expect(await asking({ authorize: async () => null })).toEqual({ refused: 403 });
  });

  test.for([undefined, {}, { role: 'admin', name: 'x' }, { role: true }, true, 'operator', ['operator'], 0])(
    'lets nobody in when it returns %j',
    async (returned) => {
      expect(await asking({ authorize: () => returned as unknown as Visitor })).toEqual({ refused: 403 });
    },
  );

  test.for([
    [undefined, 'unnamed'],
    ['  ', 'unnamed'],
    [' ada ', 'ada'],
    ['a'.repeat(500), 'a'.repeat(200)],
  ] as const)('a name of %j stands in the audit as %j', async ([name, kept]) => {
    const authorize = (): Visitor => ({ role: 'viewer', name: name as string });
    expect(await asking({ authorize })).toEqual({ visitor: { role: 'viewer', name: kept } });
  });

  test('is not asked where credentials decide, and is where they are of a kind that is not configured', async () => {
    const authorize = vi.fn<NonNullable<AuthorizationOptions['authorize']>>(() => null);
    const options = { authorize, bearer: [ROBOT] };
    expect(await asking(options, 'Bearer wrong')).toMatchObject({ refused: 401 });
    expect(await asking(options, 'Bearer a-token')).toMatchObject({ visitor: { name: 'prometheus' } });
    expect(authorize).not.toHaveBeenCalled();
    expect(await asking(options, basic('ada:pass:wörd'))).toMatchObject({ refused: 401 });
    expect(authorize).toHaveBeenCalledOnce();
  });
});

describe('a page that asks nobody', () => {
  test('is not made by forgetting to ask', () => {
    for (const options of [{}, { basic: [] }, { bearer: [] }, { unsafeOpen: false }]) {
      expect(() => createAuthorization(options)).toThrow(ConfigurationError);
    }
  });

  test('makes operators of all when that is said, and then of all', async () => {
    expect(await asking({ unsafeOpen: true })).toEqual({ visitor: { role: 'operator', name: 'local' } });
    expect(await asking({ unsafeOpen: { name: 'ada@shop-1' } })).toEqual({
      visitor: { role: 'operator', name: 'ada@shop-1' },
    });
    expect(() => createAuthorization({ unsafeOpen: { name: 'ada' }, basic: [ADA] })).toThrow(/unsafeOpen/);
    expect(() => createAuthorization({ unsafeOpen: true, basic: [ADA] })).toThrow(/unsafeOpen/);
  });
});
