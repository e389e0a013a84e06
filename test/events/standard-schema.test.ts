import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fitOf, isStandardSchema, isToCome } from '../../src/events/standard-schema.ts';

const SECRET_TEXT = 'rosebud@example.com';

/** What is said of a value by a schema that answers at once. */
const said = (schema: z.ZodType | v.GenericSchema, value: unknown) =>
  fitOf(schema['~standard'].validate(value), 'loyalty.earned', 'data');

const inZod = z.strictObject({
  points: z.number(),
  account: z.object({ kind: z.enum(['gold', 'blue']), mail: z.string().max(3) }),
  rows: z.array(z.object({ n: z.number() })),
  notes: z.record(z.string(), z.number()),
});
const inValibot = v.strictObject({
  points: v.number(),
  account: v.object({ kind: v.picklist(['gold', 'blue']), mail: v.pipe(v.string(), v.maxLength(3)) }),
  rows: v.array(v.object({ n: v.number() })),
  notes: v.record(v.string(), v.number()),
});

const FITS = { points: 1, account: { kind: 'gold', mail: 'a@b' }, rows: [{ n: 1 }], notes: { a: 1 } };
const UNFIT = {
  points: SECRET_TEXT,
  account: { kind: SECRET_TEXT, mail: SECRET_TEXT },
  rows: [{ n: 1 }, { n: SECRET_TEXT }],
  notes: { [SECRET_TEXT]: 'x' },
  [SECRET_TEXT]: 1,
};

describe('an answer of a schema', () => {
  it.each([
    ['zod', inZod],
    ['valibot', inValibot],
  ])('has the value that fits, by %s', (_, schema) => {
    expect(said(schema, FITS)).toEqual({ fits: true, value: FITS });
    const doubled =
      schema === inZod
        ? z.number().transform((n) => n * 2)
        : v.pipe(
            v.number(),
            v.transform((n) => n * 2),
          );
    expect(said(doubled, 2)).toEqual({ fits: true, value: 4 });
  });

  it.each([
    [
      'zod',
      inZod,
      'data.points: invalid_type, expected number; data.account.kind: invalid_value; data.account.mail: too_big; ' +
        'data.rows.1.n: invalid_type, expected number; data.notes.…: invalid_type, expected number; data: unrecognized_keys',
    ],
    [
      'valibot',
      inValibot,
      'data.points: number; data.account.kind: picklist; data.account.mail: max_length; data.rows.1.n: number; ' +
        'data.notes.…: number; data.…: strict_object',
    ],
  ])('names the places of what does not fit and what it is called, and never the value, by %s', (_, schema, why) => {
    const fit = said(schema, UNFIT);
    expect(fit).toEqual({ fits: false, why });
    expect(JSON.stringify(fit)).not.toContain('rosebud');
  });

  it('takes nothing of an issue that may be a text', () => {
    const issues = [
      { message: SECRET_TEXT, path: ['a', { key: 'b' }, 0, Symbol('x')], code: SECRET_TEXT, expected: SECRET_TEXT },
      { message: SECRET_TEXT, path: SECRET_TEXT, type: { toString: () => SECRET_TEXT } },
      SECRET_TEXT,
      null,
    ];
    const why = 'data.a.b.0.…: does not fit; data: does not fit';
    expect(fitOf({ issues }, 'x', 'data')).toEqual({ fits: false, why });
  });

  it('is short, however much does not fit', () => {
    const issues = Array.from({ length: 100_000 }, (_, n) => ({ message: '', path: [n] }));
    const fit = fitOf({ issues }, 'x', 'data');
    expect(fit).toMatchObject({
      fits: false,
      why: expect.stringMatching(/^data\.0: .*; data\.9: does not fit; and 99990 more$/),
    });
  });

  it('with a list of issues does not fit, although nothing is in it', () => {
    expect(fitOf({ issues: [] }, 'x', 'data')).toEqual({ fits: false, why: 'data: does not fit' });
  });

  it.each([[undefined], [null], ['no'], [true], [{ issues: 'many' }]])('cannot be %j', (answer) => {
    expect(() => fitOf(answer, 'loyalty.earned', 'data')).toThrow(
      new TypeError(
        'The schema of loyalty.earned returned neither a value nor issues, but Standard Schema requires one of them.',
      ),
    );
  });

  it('may be still to come', () => {
    expect(isToCome(Promise.resolve())).toBe(true);
    // oxlint-disable-next-line unicorn/no-thenable -- what a library of promises has
    expect(isToCome({ then: () => {} })).toBe(true);
    expect([{ value: 1 }, null, undefined].some(isToCome)).toBe(false);
  });
});

describe('a schema', () => {
  it('is what has the interface, whatever else it is', () => {
    const standard = { version: 1, vendor: 'own', validate: () => ({ value: 1 }) };
    expect(
      [inZod, inValibot, { '~standard': standard }, Object.assign(() => {}, { '~standard': standard })].every(
        isStandardSchema,
      ),
    ).toBe(true);
    const none = [null, undefined, 'x', {}, () => {}, { parse() {} }, { '~standard': null }];
    expect(
      [...none, { '~standard': { ...standard, version: 2 } }, { '~standard': { version: 1 } }].some(isStandardSchema),
    ).toBe(false);
  });
});
