// @module-tag long
// @module-tag repeated
// @module-tag dear
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { explainMismatch, type Mismatch } from '../../src/cli/verify/explain-mismatch.ts';
import type { Cause } from '../../src/cli/verify/causes.ts';
import { eventTypes } from '../../src/events/event-types.ts';
import { fixture } from '../../src/testing/fixtures.ts';
import { signBody } from '../../src/signing/signature.ts';
import { anyCharacter } from '../helpers/any-character.ts';
import { times } from '../helpers/times.ts';

const SECRET = 'whsec_dGhlIHNlY3JldCBvZiB0aGUgdGVzdHM';
const OLD = 'the secret before it';

/** The bodies that every mistake is made with. */
const BODIES = ['edge/unicode-beyond-bmp', 'edge/created-with-offset', 'edge/null-fields', ...eventTypes]
  .slice(0, times(Infinity, 5))
  .map((name) => fixture(name));

function causesOf(mismatch: Partial<Mismatch> & Pick<Mismatch, 'body' | 'signature'>): readonly Cause[] {
  const { mistakes, explained, valid } = explainMismatch({ secret: SECRET, ...mismatch });
  expect(valid).toBe(false);
  expect(explained).toBe(!mistakes.some(({ cause }) => cause === 'wrong-bytes' || cause === 'malformed-signature'));
  return mistakes.map(({ cause }) => cause);
}

const reserialised = (body: Buffer): string => JSON.stringify(JSON.parse(body.toString()));
const indented = (body: Buffer, indent: string | number): string =>
  JSON.stringify(JSON.parse(body.toString()), null, indent);
const hmac = (body: Uint8Array | string, key: Uint8Array | string): string =>
  createHmac('sha256', key).update(body).digest('hex');

/** Writes some characters as they are and some as escapes: who has written it again cannot go back. */
const MIXED = fixture('edge/unicode-beyond-bmp');

type Change = (body: Buffer) => Uint8Array | string;

/** What is given to verify and what was signed, as each mistake makes them of one body; and its names. */
type Made = readonly [cause: Cause, what: string, given: Change, signed: Change];

const same: Change = (body) => body;
const text =
  (change: (text: string) => string): Change =>
  (body) =>
    change(body.toString());
const ended = (newline: string): Change => text((body) => body + newline);
const spread =
  (indent: string | number): Change =>
  (body) =>
    indented(body, indent);
const flat: Change = (body) => indented(body, 2).replaceAll('\n', '');
const withCrlf: Change = (body) => indented(body, 2).replaceAll('\n', '\r\n');
const withSortedKeys = text((body) => JSON.stringify(sorted(JSON.parse(body))));

/** Each is made of the file, and of what was signed. */
const EITHER_WAY = (
  [
    ['re-serialised', 'by JSON.stringify, with indents', spread(2)],
    ['re-serialised', 'with sorted keys', withSortedKeys],
    ['trailing-newline', 'LF', ended('\n')],
    ['trailing-newline', 'CRLF', ended('\r\n')],
    ['trailing-newline', 'two', ended('\n\n')],
    ['bom', 'before the body', text((body) => `\u{FEFF}${body}`)],
    ['base64-body', 'base64', (body) => body.toString('base64')],
    ['hex-body', 'hexadecimal', (body) => body.toString('hex')],
    ['compressed-body', 'gzip', (body) => gzipSync(body)],
    ['double-encoded', 'as a JSON string', text((body) => JSON.stringify(body))],
  ] as readonly (readonly [Cause, string, Change])[]
).flatMap(([cause, what, change]): readonly Made[] => [
  [cause, `${what}, in the file`, change, same],
  [cause, `${what}, in what was signed`, same, change],
]);

const BODY_MISTAKES: readonly Made[] = [
  ...EITHER_WAY,
  ['re-serialised', 'the file by JSON.stringify, with wider indents', spread(4), same],
  ['re-serialised', 'the file by a formatter that ends it with a newline', (body) => `${indented(body, 2)}\n`, same],
  ['re-serialised', 'what was signed by JSON.stringify with tabs', same, spread('\t')],
  ['re-serialised', 'what was signed by json.dumps', same, text((body) => pythonDumps(JSON.parse(body)))],
  ['white-space', 'in the file', text((body) => ` ${body} `), same],
  ['line-endings', 'CRLF in the file', withCrlf, spread(2)],
  ['line-endings', 'LF in the file', spread(2), withCrlf],
  ['line-endings', 'removed, as curl --data does', spread(2), flat],
  ['line-endings', 'lost on the way here, as curl --data does', flat, spread(2)],
  ['line-endings', 'lost on the way here, with that at the end', flat, (body) => `${indented(body, 2)}\n`],
  ['line-endings', 'lost on the way here, with CRLF', flat, (body) => `${String(withCrlf(body))}\r\n`],
  ['base64-body', 'in the file, with a newline', (body) => `${body.toString('base64')}\n`, same],
  ['base64-body', 'base64url in the file', (body) => body.toString('base64url'), same],
  ['character-encoding', 'the file in UTF-16', (body) => Buffer.from(`\u{FEFF}${body.toString()}`, 'utf16le'), same],
  ['character-encoding', 'signed in UTF-16', same, (body) => Buffer.from(body.toString(), 'utf16le')],
  ['headers-in-file', 'a request', text((body) => `POST /webhooks HTTP/1.1\r\nHost: shop\r\n\r\n${body}`), same],
  ['empty-body', 'in what was signed', same, () => ''],
  ['not-the-body', '[object Object]', same, String.bind(null, {})],
  ['not-the-body', '{}', same, () => '{}'],
  ['not-the-body', "Python's text of bytes", same, text((body) => `b'${body}'`)],
];

describe('a mistake in the body', () => {
  it.each(BODY_MISTAKES)('%s: %s', (cause, _, given, signed) => {
    for (const body of BODIES) {
      if (cause === 're-serialised' && given !== same && body.equals(MIXED)) continue;
      expect(causesOf({ body: Buffer.from(given(body)), signature: hmac(signed(body), SECRET) })).toEqual([cause]);
    }
  });

  it.each(['order.created', 'order.failed', 'edge/created-with-offset'])(
    're-serialised: both ways by JSON.stringify, which writes 6.5 for 6.50, in %s',
    (name) => {
      const body = fixture(name);
      expect(reserialised(body)).not.toBe(body.toString());
      expect(causesOf({ body, signature: signBody(reserialised(body), SECRET) })).toEqual(['re-serialised']);
      const written = Buffer.from(reserialised(body));
      expect(causesOf({ body: written, signature: signBody(body, SECRET) })).toEqual(['re-serialised']);
    },
  );

  it.each([
    ['read as Latin-1', (text: string) => Buffer.from(text).toString('latin1')],
    ['read as Windows-1252', (text: string) => new TextDecoder('windows-1252').decode(Buffer.from(text))],
    ['written with ?', (text: string) => text.replaceAll(/[^\0-\x7f]/gu, '?')],
  ])('character-encoding: %s', (_, mistaken) => {
    const body = fixture('edge/unicode-beyond-bmp');
    expect(causesOf({ body, signature: signBody(mistaken(body.toString()), SECRET) })).toEqual(['character-encoding']);
  });

  it('character-encoding: the file holds what Latin-1 made of it', () => {
    const body = fixture('edge/unicode-beyond-bmp');
    const given = Buffer.from(body.toString('latin1'));
    expect(causesOf({ body: given, signature: signBody(body, SECRET) })).toEqual(['character-encoding']);
  });

  it.each([
    ['Python', (text: string) => pythonDumps(JSON.parse(text))],
    ['PHP', (text: string) => asciiOnly(reserialised(Buffer.from(text))).replaceAll('/', '\\/')],
    ['Go', (text: string) => reserialised(Buffer.from(text)).replaceAll('&', '\\u0026').replaceAll('<', '\\u003c')],
  ])('re-serialised: as %s escapes texts', (_, write) => {
    const body = Buffer.from('{"id":"evt_1","data":{"note":"<Zoë & Ω 🍰>","link":"https://x/y"}}'.replaceAll('>', ''));
    expect(causesOf({ body, signature: signBody(write(body.toString()), SECRET) })).toEqual(['re-serialised']);
    const given = Buffer.from(write(body.toString()));
    expect(causesOf({ body: given, signature: signBody(body, SECRET) })).toEqual(['re-serialised']);
  });

  it('other-body: names the one that it belongs to', () => {
    const others = eventTypes.map((name) => ({ name, body: fixture(name) }));
    const { mistakes } = explainMismatch({
      body: fixture('order.ready'),
      signature: signBody(fixture('cart.abandoned'), SECRET),
      secret: SECRET,
      others,
    });
    expect(mistakes).toMatchObject([{ cause: 'other-body', what: 'the signature belongs to cart.abandoned' }]);
  });
});

const SIGNATURE_MISTAKES: readonly (readonly [causes: readonly Cause[], write: (digits: string) => string])[] = [
  [['uppercase-hex'], (digits) => digits.toUpperCase()],
  [['prefix'], (digits) => `sha256=${digits}`],
  [['prefix'], (digits) => `v1=${digits}`],
  [['prefix'], (digits) => `X-Signature: ${digits}`],
  [['prefix'], (digits) => `0x${digits}`],
  [['prefix'], (digits) => `t=1700000000,v1=${digits}`],
  [['prefix', 'uppercase-hex'], (digits) => `sha256=${digits.toUpperCase()}`],
  [['base64-signature'], (digits) => Buffer.from(digits, 'hex').toString('base64')],
  [['base64-signature'], (digits) => Buffer.from(digits, 'hex').toString('base64url')],
  [['base64-signature'], (digits) => Buffer.from(digits).toString('base64')],
  [['prefix', 'base64-signature'], (digits) => `v1,${Buffer.from(digits, 'hex').toString('base64')}`],
  [['quotes'], (digits) => `"${digits}"`],
  [['quotes'], (digits) => `'${digits}'`],
  [['signature-white-space'], (digits) => ` ${digits}`],
  [['signature-white-space'], (digits) => `${digits}\n`],
  [['signature-white-space', 'quotes', 'prefix'], (digits) => `"sha256=${digits}" `],
  [['separators'], (digits) => digits.replaceAll(/(..)(?=.)/g, '$1:')],
  [['truncated'], (digits) => digits.slice(0, 63)],
  [['truncated'], (digits) => digits.slice(0, 16)],
  [['surroundings'], (digits) => `SHA2-256(stdin)= ${digits}`],
  [['surroundings'], (digits) => `${digits} *body.json`],
  [['several-signatures'], (digits) => `${digits}, ${digits}`],
  [['prefix', 'several-signatures', 'prefix'], (digits) => `v1=${'0'.repeat(64)},v1=${digits}`],
];

describe('a mistake in how the signature is written', () => {
  it.each(SIGNATURE_MISTAKES)('%j', (causes, write) => {
    for (const body of BODIES) {
      expect(causesOf({ body, signature: write(signBody(body, SECRET)) })).toEqual(causes);
    }
  });
});

const SECRET_MISTAKES: readonly (readonly [cause: Cause, what: string, given: string, used: string | Uint8Array])[] = [
  ['secret-white-space', 'given with a newline', 's3cret-value\n', 's3cret-value'],
  ['secret-white-space', 'given with spaces', ' s3cret-value ', 's3cret-value'],
  ['secret-white-space', 'used with a newline', 's3cret-value', 's3cret-value\n'],
  ['secret-white-space', 'used with CRLF', 's3cret-value', 's3cret-value\r\n'],
  ['secret-white-space', 'used with a space', 's3cret-value', 's3cret-value '],
  ['secret-white-space', 'used with two spaces', 's3cret-value', 's3cret-value  '],
  ['secret-quotes', 'given in quotes', '"s3cret-value"', 's3cret-value'],
  ['secret-quotes', 'used in quotes', 's3cret-value', "'s3cret-value'"],
  ['secret-prefix', 'given with its variable', 'SIGNING_SECRET=s3cret-value', 's3cret-value'],
  ['secret-prefix', 'used without its prefix', 'whsec_s3cret-value', 's3cret-value'],
  ['secret-prefix', 'given without its prefix', 's3cret-value', 'whsec_s3cret-value'],
  ['secret-encoding', 'hexadecimal, used as bytes', '00ff10aa', Buffer.from('00ff10aa', 'hex')],
  ['secret-encoding', 'base64, used as bytes', 'c2VjcmV0IGJ5dGVz', Buffer.from('secret bytes')],
  ['secret-encoding', 'base64 after whsec_, used as bytes', 'whsec_c2VjcmV0IGJ5dGVz', Buffer.from('secret bytes')],
  ['secret-encoding', 'used in hexadecimal', 'secret bytes', Buffer.from('secret bytes').toString('hex')],
  ['secret-encoding', 'used in base64', 'secret bytes', 'c2VjcmV0IGJ5dGVz'],
  ['secret-unset', 'undefined', 's3cret-value', 'undefined'],
  ['secret-unset', 'empty', 's3cret-value', ''],
];

describe('a mistake with the secret', () => {
  it.each(SECRET_MISTAKES)('%s: %s', (cause, _, given, used) => {
    for (const body of BODIES) {
      expect(causesOf({ body, signature: hmac(body, used), secret: given })).toEqual([cause]);
    }
  });

  it('old-secret', () => {
    for (const body of BODIES) {
      const signature = signBody(body, OLD);
      expect(causesOf({ body, signature, oldSecrets: ['another', OLD] })).toEqual(['old-secret']);
      expect(causesOf({ body, signature, oldSecrets: [`${OLD}\n`] })).toEqual(['old-secret']);
      expect(causesOf({ body, signature })).toEqual(['wrong-bytes']);
    }
  });
});

describe('another way to sign', () => {
  const body = fixture('order.created'); // created at 1773475331.480
  const digest = (algorithm: string, ...parts: (Uint8Array | string)[]): string => {
    const hash = createHash(algorithm);
    for (const part of parts) hash.update(part);
    return hash.digest('hex');
  };

  it.each<readonly [Cause, string, string]>([
    ['algorithm', 'HMAC-SHA1', createHmac('sha1', SECRET).update(body).digest('hex')],
    ['algorithm', 'HMAC-SHA512', createHmac('sha512', SECRET).update(body).digest('hex')],
    ['algorithm', 'SHA-256 alone', digest('sha256', body)],
    ['algorithm', 'SHA-256 of secret and body', digest('sha256', SECRET, body)],
    ['algorithm', 'SHA-256 of body and secret', digest('sha256', body, SECRET)],
    ['algorithm', 'body and secret swapped', hmac(SECRET, body)],
    ['algorithm', 'a hash of a hash', hmac(digest('sha256', body), SECRET)],
    ['timestamp', 'the seconds of created', hmac(`1773475331.${body.toString()}`, SECRET)],
    ['timestamp', 'created itself', hmac(`2026-03-14T08:02:11.480Z.${body.toString()}`, SECRET)],
    ['timestamp', 'Slack', hmac(`v0:1773475331:${body.toString()}`, SECRET)],
    ['timestamp', 'Standard Webhooks', hmac(`evt_3PqT8mXkRz4VwYb2.1773475331.${body.toString()}`, SECRET)],
  ])('%s: %s', (cause, _, signature) => {
    expect(causesOf({ body, signature })).toEqual([cause]);
  });

  it('knows the timestamp that Stripe writes before its signature, and all of it together', () => {
    const signature = `t=1700000000,v1=${hmac(`1700000000.${body.toString()}`, SECRET)}`;
    expect(causesOf({ body, signature })).toEqual(['prefix', 'timestamp']);
  });

  it('takes a whole SHA-1 for no truncated SHA-256', () => {
    const signature = `sha1=${createHmac('sha1', SECRET).update(body).digest('hex')}`;
    expect(causesOf({ body, signature })).toEqual(['prefix', 'algorithm']);
  });
});

describe('two mistakes', () => {
  it('are found together', () => {
    for (const body of BODIES.filter((one) => !one.equals(MIXED))) {
      const pretty = Buffer.from(indented(body, 2));
      expect(causesOf({ body: pretty, signature: signBody(body, OLD), oldSecrets: [OLD] })).toEqual([
        're-serialised',
        'old-secret',
      ]);
      expect(causesOf({ body: Buffer.from(`${body.toString()}\n`), signature: hmac(body, `${SECRET}\n`) })).toEqual([
        'trailing-newline',
        'secret-white-space',
      ]);
      expect(causesOf({ body: pretty, signature: `sha256=${signBody(body, SECRET).toUpperCase()}` })).toEqual([
        'prefix',
        'uppercase-hex',
        're-serialised',
      ]);
      const oldSha1 = createHmac('sha1', OLD).update(body).digest('hex');
      expect(causesOf({ body, signature: oldSha1, oldSecrets: [OLD] })).toEqual(['old-secret', 'algorithm']);
      const sha1OfBase64 = createHmac('sha1', SECRET).update(body.toString('base64')).digest('hex');
      expect(causesOf({ body, signature: sha1OfBase64 })).toEqual(['base64-body', 'algorithm']);
    }
  });
});

describe('no mistake that can be guessed', () => {
  it('wrong-bytes: a changed value, or another secret', () => {
    for (const body of BODIES) {
      const changed = Buffer.from(body.toString().replace('evt_', 'evt-'));
      expect(causesOf({ body: changed, signature: signBody(body, SECRET) })).toEqual(['wrong-bytes']);
      expect(causesOf({ body, signature: signBody(body, 'quite another') })).toEqual(['wrong-bytes']);
    }
  });

  it.each([
    ['', 'empty-body', 'is empty: other code read it first'],
    ['[object Object]', 'not-the-body', 'is [object Object]: other code read it or converted it to text first'],
    ['undefined', 'not-the-body', 'is undefined: '],
    ['null\n', 'not-the-body', 'is null: '],
  ])('says that something had the body before: %j', (given, cause, what) => {
    const original = fixture('order.created');
    const mismatch = { body: Buffer.from(given), signature: signBody(original, SECRET), secret: SECRET };
    const { mistakes, explained } = explainMismatch(mismatch);
    expect(explained).toBe(false);
    expect(mistakes).toMatchObject([{ cause, what: expect.stringContaining(what) }]);
    expect(causesOf({ ...mismatch, others: [{ name: 'x', body: original }] })).toEqual([cause, 'other-body']);
    expect(causesOf({ ...mismatch, signature: 'hello' })).toEqual(['malformed-signature', cause]);
    expect(causesOf({ ...mismatch, signature: hmac(given, OLD), oldSecrets: [OLD] })).toEqual(['old-secret']);
  });

  it('says what was tried', () => {
    const { tried, explained } = explainMismatch({
      body: fixture('order.created'),
      signature: randomBytes(32).toString('hex'),
      secret: SECRET,
      oldSecrets: [OLD],
      others: [{ name: 'x', body: fixture('order.ready') }],
    });
    expect(explained).toBe(false);
    expect(tried.complete).toBe(true);
    const pairs =
      (tried.bodies - 1) * (tried.secrets - 1) +
      (tried.bodies - 1) * (tried.schemes - 1) +
      (tried.secrets - 1) * (tried.schemes - 1);
    expect(tried.signatures).toBe(tried.bodies + tried.secrets + tried.schemes - 2 + pairs);
    expect(tried.causes).toEqual([
      'other-body',
      'trailing-newline',
      'white-space',
      'bom',
      'base64-body',
      'hex-body',
      'compressed-body',
      'empty-body',
      'not-the-body',
      'double-encoded',
      'character-encoding',
      're-serialised',
      'old-secret',
      'secret-white-space',
      'secret-quotes',
      'secret-encoding',
      'secret-prefix',
      'secret-unset',
      'algorithm',
      'timestamp',
    ]);
  });

  it.each(['hello', '0', 'f'.repeat(15), '🍰'.repeat(64)])('malformed-signature: %s', (signature) => {
    const explanation = explainMismatch({ body: fixture('order.ready'), signature, secret: SECRET });
    expect(explanation).toMatchObject({ explained: false, mistakes: [{ cause: 'malformed-signature' }] });
    expect(explanation.mistakes).toHaveLength(1);
  });

  it('says both when a malformed signature would not be right either', () => {
    const { mistakes } = explainMismatch({ body: fixture('order.ready'), signature: 'AB'.repeat(31), secret: SECRET });
    expect(mistakes.map(({ cause }) => cause)).toEqual(['malformed-signature', 'wrong-bytes']);
    expect(mistakes[0]?.what).toBe(
      'the digits of the signature are in uppercase, the signature has 62 digits instead of 64',
    );
  });

  it('has nothing to say about a right signature', () => {
    for (const body of BODIES) {
      const explanation = explainMismatch({ body, signature: signBody(body, SECRET), secret: SECRET });
      expect(explanation).toMatchObject({ valid: true, mistakes: [] });
    }
  });

  it.each([
    ['of 900 KB', fixture('edge/large-data')],
    ['nested two thousand deep', fixture('edge/deep-data')],
    ['of one long run of spaces', Buffer.alloc(1_000_000, ' ')],
    ['of one long run of newlines', Buffer.alloc(1_000_000, '\n')],
    ['of 20 MB', Buffer.alloc(20_000_000, 'x')],
    ['that is empty', Buffer.alloc(0)],
    ['that is no text', randomBytes(1_000)],
  ])('is done with a body %s in a few seconds', (_, body) => {
    const startedAt = performance.now();
    const { mistakes } = explainMismatch({ body, signature: 'ab'.repeat(32), secret: SECRET });
    expect(mistakes.map(({ cause }) => cause)).toEqual([body.byteLength === 0 ? 'empty-body' : 'wrong-bytes']);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

describe('with any event and any secret', () => {
  const anyText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
  const amount = fc.integer({ min: 0, max: 1_000_000 }).map((cents) => cents / 100);
  const document = fc.record({
    id: anyText,
    data: fc.dictionary(
      anyText,
      fc.oneof(anyText, amount, fc.constant(null), fc.boolean(), fc.array(fc.record({ price: amount, note: anyText }))),
    ),
  });
  const body = document.map((value) => Buffer.from(JSON.stringify(value)));
  const secret = fc
    .string({ minLength: 12, maxLength: 40, unit: fc.constantFrom(...'abcdefgh-ijklm.nopqrs!tuvwxyz') })
    .map((one) => `s.${one}.s`);

  type Made = (bytes: Buffer, key: string) => Partial<Mismatch> & Pick<Mismatch, 'body' | 'signature'>;

  const holds = (cause: Cause, make: Made) =>
    fc.assert(
      fc.property(body, secret, (bytes, key) => {
        const made = make(bytes, key);
        expect(causesOf({ secret: key, ...made })).toEqual([cause]);
        const said = JSON.stringify(explainMismatch({ secret: key, ...made }));
        expect(said).not.toContain(key);
        expect(said).not.toContain(hmac(made.body, key));
      }),
      { numRuns: 25 },
    );

  const anyBody = EITHER_WAY.filter(([, what]) => /indents, in the file|LF|base64/.test(what));
  it.each(anyBody)('%s: %s, is named', (cause, _, given, signed) => {
    holds(cause, (bytes, key) => ({ body: Buffer.from(given(bytes)), signature: hmac(signed(bytes), key) }));
  });

  it.each<readonly [Cause, Made]>([
    ['re-serialised', (body, key) => ({ body, signature: hmac(pythonDumps(JSON.parse(body.toString())), key) })],
    ['uppercase-hex', (body, key) => ({ body, signature: hmac(body, key).toUpperCase() })],
    ['prefix', (body, key) => ({ body, signature: `sha256=${hmac(body, key)}` })],
    ['secret-white-space', (body, key) => ({ body, signature: hmac(body, `${key}\n`) })],
    ['secret-white-space', (body, key) => ({ body, signature: hmac(body, key), secret: ` ${key}` })],
    ['old-secret', (body) => ({ body, signature: hmac(body, 'before'), oldSecrets: ['before'] })],
    ['wrong-bytes', (body, key) => ({ body: Buffer.concat([body, Buffer.from('x')]), signature: hmac(body, key) })],
  ])('%s is named', (cause, make) => {
    holds(cause, make);
  });

  it('whatever a signature is, it is explained without an exception', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: anyCharacter }), fc.base64String(), fc.stringMatching(/^[\w=:, "']{0,80}$/)),
        secret,
        (signature, key) => {
          const { explained } = explainMismatch({ body: fixture('cart.abandoned'), signature, secret: key });
          expect(explained).toBe(false);
        },
      ),
      { numRuns: 30 },
    );
  });
});

/** As `json.dumps` writes it, without any option. */
function pythonDumps(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonDumps).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([key, member]) => `${asciiOnly(JSON.stringify(key))}: ${pythonDumps(member)}`,
    );
    return `{${members.join(', ')}}`;
  }
  return asciiOnly(JSON.stringify(value));
}

function asciiOnly(json: string): string {
  return json.replaceAll(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([key, member]) => [key, sorted(member)]));
}
