import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMask } from '../../../src/ops/body/mask.ts';
import { jsonTree } from '../../../src/ops/body/readable-body.ts';
import { redactBody } from '../../../src/ops/redact.ts';
import { stepsOf } from '../../steps.ts';

const READERS = /\/src\/(?:ops\/(?:body\/|redact)|events\/)/;
const NAMES = ['a', 'b', 'data', 'items'] as const;
const PATHS = ['data.a', 'data.items[].a', 'a[][].b', 'a[0].a[].a', 'a.a.a.a', 'data[][1]'];

const STEPS_EACH = 20;

const body = (json: string): Buffer => Buffer.from(json);
const nested = (open: string, close: string, count: number): Buffer =>
  body(`{"a":${open.repeat(count)}1${close.repeat(count)}}`);

/** Bodies that grow with a number, each of them slow for some reader that is not careful. */
const GROWING: Readonly<Record<string, (count: number) => Buffer>> = {
  'lists in lists': (count) => nested('[', ']', count),
  'lists in lists, several of each': (count) => nested('[0,', ',2]', count),
  'objects in objects': (count) => nested('{"a":', '}', count),
  'lists and objects in turns': (count) => nested('[{"a":', '}]', count),
  'a long list': (count) => body(`{"a":[${'1,'.repeat(count)}1]}`),
  'a long list of lists': (count) => body(`{"a":[${'[[1]],'.repeat(count)}1]}`),
  'many names': (count) => body(`{${Array.from({ length: count }, (_, n) => `"n${n}":1,`).join('')}"a":1}`),
  'a name again and again': (count) => body(`{${'"a":1,'.repeat(count)}"a":1}`),
  escapes: (count) => body(`{"b":"${'\\"\\\\'.repeat(count)}","a":1}`),
  'a number with many digits': (count) => body(`{"a":${'1'.repeat(count)}}`),
  'white space': (count) => body(`{"a"${' '.repeat(count)}:${'\n'.repeat(count)}[${' '.repeat(count)}1]}`),
};

describe.each(Object.entries(GROWING))('%s', (_, grown) => {
  test.each([
    ['mask', (bytes: Buffer) => void createMask(PATHS).mask(bytes)],
    ['redact', (bytes: Buffer) => void redactBody(bytes)],
    ['tree', (bytes: Buffer) => void jsonTree(bytes.toString(), { values: Infinity, depth: Infinity })],
  ])('make no more steps for each byte to %s when there are more of them', (_, read) => {
    const [few, many] = [grown(60), grown(240)];
    const stepsFor = (bytes: Buffer): number => stepsOf(READERS, () => read(bytes)) / bytes.byteLength;
    expect(stepsFor(many)).toBeLessThan(1.25 * stepsFor(few));
  });
});

test('100,000 lists within one another are masked, redacted and shown, and the stack holds', () => {
  const deep = nested('[', ']', 100_000);
  const masked = createMask(['a[][]', 'b.c[]']).mask(deep);
  expect(Buffer.from(masked).toString()).toBe('{"a":[["•••"]]}');
  expect(createMask(['a.x', 'a[][].y']).mask(deep)).toEqual(deep);
  expect(redactBody(deep)).toHaveLength(deep.byteLength);
  expect(jsonTree(deep.toString()).leftOut).toBe(true);
});

test('whatever a body is like, masking takes so many steps for each of its bytes and no more', () => {
  const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.string({ maxLength: 5 }));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 60, withCrossShrink: true }, leaf, tie('list'), tie('object'), tie('tower')),
    list: fc.array(tie('value'), { maxLength: 6 }),
    object: fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 4 }),
    // What a chance of one in three for each further level would never come to.
    tower: fc
      .tuple(fc.integer({ min: 1, max: 40 }), fc.constantFrom(...NAMES), fc.boolean(), tie('value'))
      .map(([height, name, named, inner]) => {
        let top = inner;
        for (let level = 0; level < height; level += 1) top = named ? { [name]: [top] } : [level, top];
        return top;
      }),
  }));
  const steps = fc.array(fc.constantFrom('.a', '.b', '.items', '[]', '[0]', '[1]'), { maxLength: 4 });
  const path = fc.tuple(fc.constantFrom(...NAMES), steps).map(([first, rest]) => first + rest.join(''));
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...NAMES), value),
      fc.array(path, { minLength: 1, maxLength: 5 }),
      (json, paths) => {
        const bytes = body(JSON.stringify(json));
        const mask = createMask(paths);
        const steps = stepsOf(READERS, () => void mask.mask(bytes));
        expect(steps).toBeLessThan(200 + STEPS_EACH * bytes.byteLength * paths.join('').length);
      },
    ),
    { numRuns: 150, seed: 10_17 },
  );
});
