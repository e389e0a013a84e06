// @module-tag repeated
import { createHmac, randomBytes } from 'node:crypto';
import type * as Crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import rfc4231 from '../../fixtures/rfc4231.json' with { type: 'json' };
import fixtures from '../../fixtures/signatures.json' with { type: 'json' };
import { ConfigurationError } from '../../src/errors.ts';
import { eventTypes } from '../../src/events/event-types.ts';
import { parseEvent } from '../../src/events/parse.ts';
import { memoryInbox } from '../../src/inbox/memory/memory-inbox.ts';
import { createReceiver } from '../../src/receive/receiver.ts';
import { signBody, verifySignature, type Secret } from '../../src/signing/signature.ts';
import { anyCharacter } from '../helpers/any-character.ts';
import { times } from '../helpers/times.ts';

const computed = vi.hoisted(() => ({ hashes: 0, comparisons: 0 }));

// Counted, not replaced: how often a secret is tried must not depend on which one matches.
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof Crypto>();
  return {
    ...crypto,
    hash: (...args: Parameters<typeof crypto.hash>) => {
      computed.hashes += 1;
      return crypto.hash(...args);
    },
    timingSafeEqual: (...args: Parameters<typeof crypto.timingSafeEqual>) => {
      computed.comparisons += 1;
      return crypto.timingSafeEqual(...args);
    },
  };
});

const utf8 = new TextEncoder();
const WELL_FORMED = /^[0-9a-f]{64}$/;
const MARKER = 'the-good-secret-4711';

describe('signBody', () => {
  it.each(rfc4231.vectors)('computes RFC 4231 case $case: $tests', ({ key, data, expected, truncatedTo = 256 }) => {
    const signature = signBody(Buffer.from(data, 'hex'), Buffer.from(key, 'hex'));
    expect(signature).toMatch(WELL_FORMED);
    expect(signature.slice(0, truncatedTo / 4)).toBe(expected);
  });

  it.each(fixtures.vectors.filter(({ valid }) => valid))('computes the vector $name', (vector) => {
    const signatures = secretsOf(vector).map((secret) => signBody(Buffer.from(vector.body_base64, 'base64'), secret));
    expect(signatures).toContain(vector.signature);
  });

  it('signs a text as its UTF-8 bytes', () => {
    expect(signBody('Crème brûlée 🍮', 'secret')).toBe(signBody(utf8.encode('Crème brûlée 🍮'), 'secret'));
  });

  it('takes the bytes of a view, not those of the buffer behind it', () => {
    const pool = utf8.encode('before{"id":"evt_1"}after');
    expect(signBody(pool.subarray(6, 20), pool.subarray(0, 6))).toBe(signBody('{"id":"evt_1"}', 'before'));
  });

  it('takes spaces around a secret as part of it', () => {
    expect(signBody('{}', ' secret ')).not.toBe(signBody('{}', 'secret'));
  });
});

describe('verifySignature', () => {
  it.each(fixtures.vectors)('reaches the verdict of $name: $valid ($why)', (vector) => {
    const body = Buffer.from(vector.body_base64, 'base64');
    expect(verifySignature(body, vector.signature, secretsOf(vector))).toBe(vector.valid);
  });

  it('covers every kind of vector', () => {
    expect(new Set(fixtures.vectors.map(({ kind }) => kind))).toEqual(
      new Set(['valid', 'rotated', 'tampered', 'wrong-secret', 'malformed']),
    );
  });

  it('accepts either secret of a rotation, in either order, and no third one', () => {
    const body = utf8.encode('{"id":"evt_1"}');
    for (const secrets of [
      ['new', 'old'],
      ['old', 'new'],
    ]) {
      expect(verifySignature(body, signBody(body, 'new'), secrets)).toBe(true);
      expect(verifySignature(body, signBody(body, 'old'), secrets)).toBe(true);
      expect(verifySignature(body, signBody(body, 'retired'), secrets)).toBe(false);
    }
  });

  it('refuses a truncated signature, even one of RFC 4231', () => {
    const truncated = rfc4231.vectors.filter(({ truncatedTo }) => truncatedTo !== undefined);
    expect(truncated).toHaveLength(1);
    for (const { key, data, expected } of truncated) {
      expect(verifySignature(Buffer.from(data, 'hex'), expected, Buffer.from(key, 'hex'))).toBe(false);
    }
  });

  const positions = { first: 'alpha', middle: 'beta', last: 'gamma', none: 'delta' };

  it.each(Object.entries(positions))('tries all three secrets when the match is: %s', (position, signer) => {
    const body = utf8.encode('{"id":"evt_1"}');
    const signature = signBody(body, signer);
    const before = { ...computed };
    const matched = verifySignature(body, signature, ['alpha', 'beta', 'gamma']);
    expect(matched).toBe(position !== 'none');
    expect(computed.hashes - before.hashes).toBe(6); // an inner and an outer one each
    expect(computed.comparisons - before.comparisons).toBe(3);
  });
});

/** `why` is what a message has to say about it. */
const UNUSABLE: readonly { readonly name: string; readonly secret: unknown; readonly why: RegExp }[] = [
  { name: 'undefined', secret: undefined, why: /undefined|missing/ },
  { name: 'null', secret: null, why: /null|missing/ },
  { name: 'the empty text', secret: '', why: /empty/ },
  { name: 'two spaces', secret: '  ', why: /empty/ },
  { name: 'a tab and a newline', secret: '\t\n', why: /empty/ },
  { name: 'the word undefined', secret: 'undefined', why: /undefined.*not set/ },
  { name: 'the word null', secret: 'null', why: /null.*not set/ },
  { name: 'the word null after a space', secret: ' null', why: /null.*not set/ },
  { name: 'the word undefined before a newline', secret: 'undefined\n', why: /undefined.*not set/ },
  { name: 'no bytes', secret: new Uint8Array(), why: /empty/ },
  { name: 'a number', secret: 471_100, why: /number/ },
  { name: 'a boolean', secret: true, why: /boolean/ },
  { name: 'an object', secret: { value: MARKER }, why: /object/ },
];

const UNUSABLE_LISTS: readonly { readonly name: string; readonly secret: unknown; readonly why: RegExp }[] = [
  { name: 'an empty list', secret: [], why: /empty/ },
  { name: 'a list of what is not set', secret: [undefined, undefined], why: /undefined.*Set at least one/ },
  ...UNUSABLE.filter(({ secret }) => secret !== undefined).map(({ name, secret }) => ({
    name: `a list whose second is ${name}`,
    secret: [MARKER, secret],
    why: /\[1\]/,
  })),
  { name: 'a list whose first is empty', secret: ['', MARKER], why: /\[0\]/ },
  { name: 'a list in a list', secret: [MARKER, [MARKER]], why: /\[1\]/ },
];

describe('an unusable secret', () => {
  function refusalOf(run: () => unknown): ConfigurationError {
    try {
      run();
    } catch (failure) {
      if (failure instanceof ConfigurationError) return failure;
      throw failure;
    }
    throw new Error('it was accepted');
  }

  it.each(UNUSABLE)('signs nothing: $name', ({ secret, why }) => {
    const failure = refusalOf(() => signBody('{}', secret as Secret));
    expect(failure.code).toBe('UNUSABLE_SECRET');
    expect(failure.message).toMatch(why);
    expect(failure.message).not.toContain(MARKER);
    expect(failure.message).not.toContain('4711');
  });

  it.each([...UNUSABLE, ...UNUSABLE_LISTS])('verifies nothing: $name', ({ secret, why }) => {
    const signature = signBody('{}', MARKER);
    const failure = refusalOf(() => verifySignature(utf8.encode('{}'), signature, secret as Secret));
    expect(failure.code).toBe('UNUSABLE_SECRET');
    expect(failure.message).toMatch(why);
    expect(failure.message).not.toContain(MARKER);
    expect(failure.message).not.toContain('4711');
  });

  it.each([...UNUSABLE, ...UNUSABLE_LISTS])('lets no receiver start: $name', ({ secret, why }) => {
    const failure = refusalOf(() => createReceiver({ secret: secret as Secret, inbox: memoryInbox() }));
    expect(failure.code).toBe('UNUSABLE_SECRET');
    expect(failure.message).toMatch(why);
    expect(failure.message).not.toContain(MARKER);
    expect(failure.message).not.toContain('4711');
  });

  it.each([
    ['first', [undefined, MARKER]],
    ['last', [MARKER, undefined]],
  ])('is not one that is not set beside one that is: %s', async (_, secret) => {
    const signature = signBody('{}', MARKER);
    expect(verifySignature(utf8.encode('{}'), signature, secret)).toBe(true);
    await using receiver = createReceiver({ secret, inbox: memoryInbox(), logger: false });
    // Authentic, though no event.
    expect(await receiver.receive({ body: utf8.encode('{}'), signature })).toMatchObject({ status: 400 });
    const guessed = createHmac('sha256', 'undefined').update('{}').digest('hex');
    expect(await receiver.receive({ body: utf8.encode('{}'), signature: guessed })).toMatchObject({ status: 401 });
  });

  it('lets no receiver start that names no secret at all', () => {
    const failure = refusalOf(() => createReceiver({ inbox: memoryInbox() }));
    expect(failure.code).toBe('UNUSABLE_SECRET');
    expect(failure.message).toContain('unsafeUnsigned');
  });

  it('is found before the signature is looked at, so that a mistake shows at the first delivery', () => {
    expect(() => verifySignature(utf8.encode('{}'), 'no signature', '')).toThrow(ConfigurationError);
    expect(() => verifySignature(utf8.encode('{}'), null, [])).toThrow(ConfigurationError);
  });
});

describe('what a sender controls', () => {
  let cases = 0;
  const RUNS = {
    bodyBit: times(22_000, 2_200),
    digestBit: times(12_000, 1_200),
    textBit: times(12_000, 1_200),
    header: times(30_000, 3_000),
    bytes: times(12_000, 1_200),
    json: times(8_000, 800),
    mutated: times(12_000, 1_200),
  };
  const LEAST = times(100_000, 10_000);

  const body = fc.uint8Array({ minLength: 1, maxLength: 200 });
  const secret = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 80 }),
    fc.string({ minLength: 1, maxLength: 40 }).map((text) => `s${text}`),
  );

  it('is refused once any bit of the body is flipped', () => {
    fc.assert(
      fc.property(body, secret, fc.nat(), (body, secret, seed) => {
        cases += 1;
        const signature = signBody(body, secret);
        expect(verifySignature(body, signature, secret)).toBe(true);
        expect(verifySignature(withFlippedBit(body, seed), signature, secret)).toBe(false);
      }),
      { numRuns: RUNS.bodyBit },
    );
  });

  it('is refused once any bit of the digest is flipped, though the signature stays well formed', () => {
    fc.assert(
      fc.property(body, secret, fc.nat({ max: 255 }), (body, secret, bit) => {
        cases += 1;
        const digest = Buffer.from(signBody(body, secret), 'hex');
        const flipped = Buffer.from(withFlippedBit(digest, bit)).toString('hex');
        expect(flipped).toMatch(WELL_FORMED);
        expect(verifySignature(body, flipped, secret)).toBe(false);
      }),
      { numRuns: RUNS.digestBit },
    );
  });

  it('is refused once any bit of the text of the signature is flipped', () => {
    fc.assert(
      fc.property(body, secret, fc.nat({ max: 511 }), (body, secret, bit) => {
        cases += 1;
        const flipped = Buffer.from(withFlippedBit(Buffer.from(signBody(body, secret), 'latin1'), bit)).toString(
          'latin1',
        );
        expect(verifySignature(body, flipped, secret)).toBe(false);
      }),
      { numRuns: RUNS.textBit },
    );
  });

  it('is refused with a header that is anything but 64 lowercase hex digits, however near it comes', () => {
    const delivered = utf8.encode('{"id":"evt_1"}');
    const right = signBody(delivered, MARKER);
    const at = fc.nat({ max: 63 });
    const bad = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 130 }),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), maxLength: 130 }),
      // One or more letters in upper case.
      fc
        .array(at, { minLength: 1 })
        .map((upper) => upper.reduce((text, one) => spliced(text, one, (digit) => digit.toUpperCase()), right)),
      fc
        .tuple(fc.string({ unit: anyCharacter, maxLength: 4 }), fc.string({ unit: anyCharacter, maxLength: 4 }))
        .map(([before, after]) => `${before}${right}${after}`),
      fc.constantFrom('sha256=', '0x', ' ', '\t', '\n', '\ufeff', '"', '\0', 'v1,').map((prefix) => prefix + right),
      fc.constantFrom(' ', '\n', '\r\n', '\0', ',', '"', '==', 'zz', '0', right).map((suffix) => right + suffix),
      fc.nat({ max: 63 }).map((length) => right.slice(0, length)),
      // The same digits in other scripts: full width, mathematical, Arabic-Indic, Cyrillic а and е.
      fc.tuple(at, fc.constantFrom(0xff10, 0x1d7ce, 0x0660)).map(([from, zero]) => inScript(right, from, zero)),
      fc.constant(right.replaceAll('a', 'а').replaceAll('e', 'е')),
      fc
        .tuple(at, fc.string({ unit: anyCharacter, minLength: 1, maxLength: 2 }))
        .map(([one, other]) => spliced(right, one, () => other)),
      fc.constantFrom(null, undefined, 0, Number.NaN, true, Symbol('x'), 10n, {}, () => right),
      fc.constantFrom([right], [right, right], new String(right), Buffer.from(right), Buffer.from(right, 'hex'), {
        toString: () => right,
        length: 64,
      }),
    );
    fc.assert(
      fc.property(
        bad.filter((header) => typeof header !== 'string' || !WELL_FORMED.test(header)),
        (header) => {
          cases += 1;
          expect(verifySignature(delivered, header as string, MARKER)).toBe(false);
        },
      ),
      { numRuns: RUNS.header },
    );
    expect(verifySignature(delivered, right, MARKER)).toBe(true);
  });

  it('never makes verifySignature or parseEvent throw: arbitrary bytes under an arbitrary header', () => {
    const header = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 }),
      fc.constant(null),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), header, (body, header) => {
        cases += 1;
        expect(verifySignature(body, header, ['new', 'old'])).toBe(false);
        const parsed = parseEvent(body);
        expect(parsed).toMatchObject({ ok: false, id: null });
        expect(parsed.issues).not.toEqual([]);
      }),
      { numRuns: RUNS.bytes },
    );
  });

  it('never makes them throw: arbitrary JSON, bare and in every place of an envelope', () => {
    const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' });
    const envelope = fc.record(
      {
        id: fc.oneof(fc.string(), value),
        type: fc.oneof(fc.constantFrom(...eventTypes), value),
        created: fc.oneof(fc.constant('2026-03-14T08:02:11Z'), value),
        data: fc.oneof(
          fc.dictionary(fc.constantFrom('object', 'id', 'items', 'total', '__proto__', 'constructor'), value),
          value,
        ),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(value, envelope), (json) => {
        cases += 1;
        const body = utf8.encode(JSON.stringify(json));
        expect(verifySignature(body, signBody(body, MARKER), MARKER)).toBe(true);
        const parsed = parseEvent(body);
        expect(parsed.ok || parsed.issues.length > 0).toBe(true);
      }),
      { numRuns: RUNS.json },
    );
  });

  it('never makes them throw: fixtures with bytes changed, cut out and put in', () => {
    const originals = eventTypes.map((type) => readFileSync(new URL(`../../fixtures/${type}.json`, import.meta.url)));
    const mutation = fc.record({
      at: fc.nat(),
      remove: fc.nat({ max: 3 }),
      insert: fc.oneof(
        fc.uint8Array({ maxLength: 3 }),
        fc.constantFrom('"', '{', '}', '[', ',', '\\', 'null', '1e999', '\\u0000').map((text) => utf8.encode(text)),
      ),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...originals),
        fc.array(mutation, { minLength: 1, maxLength: 4 }),
        (original, mutations) => {
          cases += 1;
          let mutated = original;
          for (const { at, remove, insert } of mutations) {
            const start = at % mutated.length;
            mutated = Buffer.concat([mutated.subarray(0, start), insert, mutated.subarray(start + remove)]);
          }
          expect(verifySignature(mutated, signBody(original, MARKER), MARKER)).toBe(mutated.equals(original));
          const parsed = parseEvent(mutated);
          expect(parsed.ok || parsed.issues.length > 0).toBe(true);
        },
      ),
      { numRuns: RUNS.mutated },
    );
  });

  it(`was tried in at least ${LEAST.toLocaleString('en')} cases`, () => {
    console.log(`signature properties: ${cases.toLocaleString('en')} cases`);
    expect(cases).toBeGreaterThanOrEqual(LEAST);
  });
});

function secretsOf({ secrets }: (typeof fixtures.vectors)[number]): Secret[] {
  return secrets.map((secret) => (secret.hex === undefined ? secret.utf8 : Buffer.from(secret.hex, 'hex')));
}

function withFlippedBit(bytes: Uint8Array, seed: number): Uint8Array {
  const bit = seed % (bytes.length * 8);
  return bytes.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
}

function spliced(text: string, at: number, change: (character: string) => string): string {
  return text.slice(0, at) + change(text.charAt(at)) + text.slice(at + 1);
}

function inScript(signature: string, from: number, zero: number): string {
  const digits = signature.slice(from).replaceAll(/[0-9]/g, (digit) => String.fromCodePoint(zero + Number(digit)));
  return signature.slice(0, from) + digits;
}

describe('the HMAC of its own', () => {
  const sizes = [0, 1, 55, 56, 63, 64, 65, 1_000, 16_383, 16_384, 16_385, 1_048_576];
  it.each(sizes)("equals node's for a body of %i bytes, whatever the length of the key", (size) => {
    const body = randomBytes(size);
    for (const length of [1, 32, 63, 64, 65, 200]) {
      const key = randomBytes(length);
      expect(signBody(body, key)).toBe(createHmac('sha256', key).update(body).digest('hex'));
    }
  });
});
