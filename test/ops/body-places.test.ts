import * as fc from 'fast-check';
import { expect, it, test } from 'vitest';
import { placesReader, tokensAt, type BodyStep } from '../../src/inbox/operator/finding/bodies.ts';

/** What JSON.parse has at a place, as it is written again. */
function atPlace(json: unknown, steps: readonly BodyStep[]): string | null {
  let value = json;
  for (const step of steps) {
    const isPlace = typeof step === 'number';
    if (typeof value !== 'object' || value === null || Array.isArray(value) !== isPlace) return null;
    if (!Object.hasOwn(value, step)) return null;
    value = (value as Record<BodyStep, unknown>)[step];
  }
  return typeof value === 'object' && value !== null ? null : JSON.stringify(value);
}

test('what is read at places is what JSON.parse has there, however many are asked for at once', () => {
  const name = fc.constantFrom('a', 'b', 'data', '"', '__proto__', 'ü\n', '');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.jsonValue({ maxDepth: 0 }),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(name, tie('value'), { maxKeys: 5 }),
    ),
  }));
  const path = fc.array(fc.oneof(name, fc.nat(4)), { minLength: 1, maxLength: 4 });
  const holds = fc.property(
    fc.dictionary(name, value),
    fc.array(path, { maxLength: 8 }),
    fc.constantFrom(0, 2),
    (json, paths, indent) => {
      const text = JSON.stringify(json, null, indent);
      const parsed: unknown = JSON.parse(text);
      expect(tokensAt(text, paths)).toEqual(paths.map((steps) => atPlace(parsed, steps)));
    },
  );
  fc.assert(holds, { numRuns: 500 });
});

it.each([
  ['a number as it is written', '{"a":12.50,"b":1E400}', ['a'], '12.50'],
  ['the first of a name that comes twice', '{"a":1,"\\u0061":2}', ['a'], '1'],
  ['nothing behind the first of a name that comes twice', '{"a":{"x":1},"a":{"b":2}}', ['a', 'b'], null],
  ['a name however it is spelt', '{"\\u0061":"x"}', ['a'], '"x"'],
  ['nothing in a list by a name', '{"a":[1]}', ['a', '0'], null],
  ['nothing in an object by a place', '{"a":{"0":1}}', ['a', 0], null],
  ['nothing of an object', '{"a":{}}', ['a'], null],
])('has %s', (_, text, steps, written) => {
  expect(tokensAt(text, [steps])).toEqual([written]);
});

it.each([
  ['names', `{${Array.from({ length: 50_000 }, (_, n) => `"n${n}":1`).join(',')}}`],
  ['a list that no path leads into', `{"b":[${'1,'.repeat(250_000)}1]}`],
  ['lists within one another', `{"b":${'['.repeat(250_000)}${']'.repeat(250_000)}}`],
])('whoever reads may rest every 64 KiB, also in %s', (_, text) => {
  const read = placesReader(text, [['missing']]);
  let rests = 0;
  while (read() === null) rests += 1;
  expect(rests).toBeGreaterThanOrEqual(Math.floor(text.length / 65_536) - 1);
});
