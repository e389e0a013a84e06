import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDuplicateKey, hasAllThatIsWritten } from '../../src/events/json.ts';

const hasAll = (text: string): boolean =>
  hasAllThatIsWritten(new TextEncoder().encode(text), Object.keys(JSON.parse(text) as object).length);

describe('findDuplicateKey', () => {
  it.each([
    ['two keys alike', '{"a":1,"a":2}', 'a'],
    ['three apart', '{"a":1,"b":2,"c":3,"a":4}', 'a'],
    ['the first to come again, not the first there was', '{"a":1,"b":2,"b":3,"a":4}', 'b'],
    ['the empty key', '{"":1,"":2}', ''],
    ['one spelled with an escape', '{"id":1,"\\u0069d":2}', 'id'],
    ['both spelled with escapes, differently', '{"\\u0069d":1,"i\\u0064":2}', 'id'],
    ['hex digits in either case', '{"\\u006f":1,"\\u006F":2}', 'o'],
    ['short and long escapes', '{"a\\nb":1,"a\\u000ab":2}', 'a\nb'],
    ['an escaped slash', '{"a/b":1,"a\\/b":2}', 'a/b'],
    ['a surrogate pair, raw and escaped', '{"\u{1F950}":1,"\\ud83e\\udd50":2}', '\u{1F950}'],
    ['quotes in keys', '{"a\\"b":1,"a\\"b":2}', 'a"b'],
    ['backslashes in keys', '{"a\\\\":1,"a\\\\":2}', 'a\\'],
    ['white space all around', '{\n "a" : 1 ,\t"a"\r\n: 2 }', 'a'],
    ['values of every kind in between', '{"a":{"x":[1,{"y":"z"}]},"b":[],"c":"a","d":null,"e":-1.5e3,"a":true}', 'a'],
    ['after a nested object that ends in an array', '{"a":[[{}]],"a":1}', 'a'],
    ['a name on Object.prototype', '{"toString":1,"toString":2}', 'toString'],
    ['__proto__', '{"__proto__":1,"__proto__":2}', '__proto__'],
  ])('finds %s', (_, text, key) => {
    expect(findDuplicateKey(text)).toBe(key);
    expect(duplicateByTokens(text)).toBe(key);
    expect(hasAll(text)).toBe(false);
  });

  it.each([
    ['no keys', '{}'],
    ['one key', '{"a":1}'],
    ['keys that differ', '{"a":1,"b":2,"A":3,"a ":4}'],
    ['a key again in an object below', '{"a":{"a":{"a":1}},"b":{"a":1}}'],
    ['a key twice in an object below', '{"a":{"b":1,"b":2}}'],
    ['a key twice in an object in an array', '{"a":[{"b":1,"b":2},{"b":1}],"b":1}'],
    ['a value that reads like a key', '{"a":"b","b":"a"}'],
    ['values that repeat in an array', '{"a":["b","b","a"],"b":["a"]}'],
    ['a string full of JSON', '{"a":"{\\"a\\":1,\\"a\\":2}","b":1}'],
    ['braces and brackets in strings', '{"a":"}{][,:","b":"{","c":"}","d":"[","e":"]"}'],
    ['a string that ends in a backslash', '{"a":"x\\\\","b":"\\\\\\\\","c":1}'],
    ['a string that ends in an escaped quote', '{"a":"x\\"","b":"\\\\\\"","c":1}'],
    ['a key that is an escaped quote', '{"\\"":1,"\\\\\\"":2,"\\\\":3}'],
    ['keys that differ only by an escaped backslash', '{"\\u0061":1,"\\\\u0061":2}'],
    ['composed and decomposed letters', '{"\u00e9":1,"e\u0301":2}'],
    ['lone surrogates that differ', '{"\\ud800":1,"\\ud801":2}'],
    ['names on Object.prototype, once each', '{"constructor":1,"__proto__":2,"hasOwnProperty":3}'],
  ])('finds none in %s', (_, text) => {
    expect(findDuplicateKey(text)).toBeNull();
    expect(duplicateByTokens(text)).toBeNull();
    expect(hasAll(text)).toBe(!text.includes('\\') && text !== '{}');
  });

  it('agrees with a slow tokenizer on arbitrary JSON texts', () => {
    let found = 0;
    let none = 0;
    let quick = 0;
    fc.assert(
      fc.property(object, (text) => {
        JSON.parse(text); // it takes valid JSON only
        const expected = duplicateByTokens(text);
        if (expected === null) none += 1;
        else found += 1;
        expect(findDuplicateKey(text)).toBe(expected);
        const hasNoEscape = !text.includes('\\') && Object.keys(JSON.parse(text) as object).length > 0;
        expect(hasAll(text)).toBe(hasNoEscape && expected === null);
        if (hasNoEscape) quick += 1;
      }),
      { numRuns: 10_000 },
    );
    expect(found).toBeGreaterThan(1_000);
    expect(none).toBeGreaterThan(1_000);
    expect(quick).toBeGreaterThan(100);
  });

  it('takes time in proportion to the text, whatever its quotes and backslashes', () => {
    const texts: readonly ((size: number) => string)[] = [
      (size) => `{"a":"${'\\\\'.repeat(size)}"}`,
      (size) => `{"a":"${'\\"'.repeat(size)}"}`,
      (size) => `{"a":"${'\\\\\\"'.repeat(size / 2)}"}`,
      (size) => `{"a":${'['.repeat(size)}${']'.repeat(size)}}`,
      (size) => `{${Array.from({ length: size / 8 }, (_, index) => `"k\\u0061${index}":0`).join()}}`,
    ];
    for (const text of texts) {
      const short = bestTime(text(80_000));
      // Of a text that is 8 times as long; what grew with its square would take 64 times.
      expect(bestTime(text(640_000))).toBeLessThan(40 * short);
    }
  });
});

/** The best of five, in milliseconds: what else the machine does comes on top. */
function bestTime(text: string): number {
  const times = Array.from({ length: 5 }, () => {
    const start = performance.now();
    expect(findDuplicateKey(text)).toBeNull();
    return performance.now() - start;
  });
  return Math.min(...times);
}

/** Spellings of few names, so that keys often meet and are often spelled differently. */
const key = fc.constantFrom(
  '"a"',
  '"\\u0061"',
  '"b"',
  '"\\u0062"',
  '"id"',
  '"\\u0069d"',
  '"i\\u0064"',
  '""',
  '"\\""',
  '"\\u0022"',
  '"\\\\"',
  '"\\u005C"',
  '"\\u005c"',
  '"a\\\\"',
  '"{"',
  '"}"',
  '","',
  '":"',
  '"\\n"',
  '"\\u000A"',
  '"/"',
  '"\\/"',
  '"__proto__"',
  '"\u{1F950}"',
  '"\\ud83e\\udd50"',
);
const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n');
/** Strings of nothing but what could confuse a scanner. */
const confusing = fc
  .array(fc.constantFrom('\\"', '\\\\', '\\u0022', '{', '}', '[', ']', ',', ':', 'a', '\\/', "'", '\\u005c'), {
    maxLength: 8,
  })
  .map((parts) => `"${parts.join('')}"`);
const scalar = fc.oneof(
  confusing,
  fc.json({ maxDepth: 0 }),
  fc.constantFrom('0', '-1.5e3', 'true', 'null', '"a"', '"id"'),
);

const { object } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, scalar, tie('array'), tie('object')),
  array: fc
    .tuple(fc.array(tie('value'), { maxLength: 3 }), space)
    .map(([items, gap]) => `[${gap}${items.join(`,${gap}`)}${gap}]`),
  object: fc
    .tuple(fc.array(fc.tuple(key, tie('value')), { maxLength: 7 }), space, space)
    .map(
      ([members, gap, other]) =>
        `{${gap}${members.map(([name, value]) => `${name}${other}:${gap}${value}`).join(`${gap},${other}`)}${gap}}`,
    ),
}));

/**
 * The reference: splits a text into tokens one character at a time, and keeps the path it is on. Slow, and written
 * apart from what it judges.
 */
function duplicateByTokens(text: string): string | null {
  const tokens: { readonly kind: 'string' | 'mark' | 'other'; readonly text: string }[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (' \n\r\t'.includes(character)) {
      at += 1;
    } else if ('{}[],:'.includes(character)) {
      tokens.push({ kind: 'mark', text: character });
      at += 1;
    } else if (character === '"') {
      let value = '';
      at += 1;
      while (text.charAt(at) !== '"') {
        if (text.charAt(at) !== '\\') {
          value += text.charAt(at);
          at += 1;
        } else if (text.charAt(at + 1) === 'u') {
          value += String.fromCharCode(Number.parseInt(text.slice(at + 2, at + 6), 16));
          at += 6;
        } else {
          const letter = text.charAt(at + 1);
          value += { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }[letter] ?? letter;
          at += 2;
        }
      }
      tokens.push({ kind: 'string', text: value });
      at += 1;
    } else {
      const start = at;
      while (at < text.length && !' \n\r\t{}[],:"'.includes(text.charAt(at))) at += 1;
      tokens.push({ kind: 'other', text: text.slice(start, at) });
    }
  }

  const open: string[] = [];
  const keys: string[] = [];
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1];
    if (token.kind === 'mark' && '{['.includes(token.text)) open.push(token.text);
    if (token.kind === 'mark' && '}]'.includes(token.text)) open.pop();
    const isKey = token.kind === 'string' && next?.kind === 'mark' && next.text === ':';
    if (isKey && open.length === 1) {
      if (keys.includes(token.text)) return token.text;
      keys.push(token.text);
    }
  }
  return null;
}
