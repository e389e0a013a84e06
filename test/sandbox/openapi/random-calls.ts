import * as fc from 'fast-check';
import {
  operationsOf,
  resolved,
  type Described,
  type DescribedOperation,
  type Document,
  type Schema,
} from './described.ts';

/** An id that some answer named: which one is known only when the call is made. */
export class KnownId {
  readonly of: string;
  readonly at: number;

  constructor(of: string, at: number) {
    this.of = of;
    this.at = at;
  }
}

export interface RandomCall {
  readonly operation: DescribedOperation;
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: readonly (readonly [name: string, value: unknown])[];
  readonly body: unknown;
  readonly key: 'all' | 'lacking' | 'wrong' | 'none';
  /** what about it the document forbids; `null` where it fits */
  readonly broken: string | null;
  readonly outage: { readonly kind: 'before' | 'after'; readonly status: 500 | 502 | 503 | 504 } | null;
}

export function randomCalls(document: Document, seed: number, count: number): readonly RandomCall[] {
  const operations = operationsOf(document);
  const call = fc.constantFrom(...operations).chain((operation) => callOf(operation, document));
  return fc.sample(call, { seed, numRuns: count });
}

function callOf(operation: DescribedOperation, document: Document): fc.Arbitrary<RandomCall> {
  const right = fc.record({
    operation: fc.constant(operation),
    params: fc.record(
      Object.fromEntries(
        Array.from(operation.path.matchAll(/(\w+)\/\{(\w+)\}/g), ([, of = '', name = '']) => [name, idOf(of)]),
      ),
    ),
    query: queryOf(operation, document),
    body: bodyOf(operation, document),
    key: fc.constantFrom<RandomCall['key']>(...Array.from({ length: 20 }, () => 'all' as const), 'lacking', 'wrong'),
    broken: fc.constant(null),
    outage: fc.oneof(
      { weight: 15, arbitrary: fc.constant(null) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constantFrom('before' as const, 'after' as const),
          status: fc.constantFrom(500 as const, 502 as const, 503 as const, 504 as const),
        }),
      },
    ),
  });
  const breaks = breaksOf(operation, document);
  const wrong = fc.tuple(right, fc.constantFrom(...breaks)).map(([call, spoil]) => spoil({ ...call, outage: null }));
  return fc.oneof({ weight: 2, arbitrary: right }, { weight: 1, arbitrary: wrong });
}

function idOf(name: string): fc.Arbitrary<unknown> {
  const of = name.replace(/_?id$/i, '').replaceAll('-', '_');
  const known = fc.nat(1_000).map((at) => new KnownId(of, at));
  const unknown = fc.stringMatching(/^[\w-]{1,12}$/);
  return fc.oneof({ weight: 9, arbitrary: known }, { weight: 1, arbitrary: unknown });
}

function queryOf({ parameters = [] }: Described, document: Document): fc.Arbitrary<RandomCall['query']> {
  const each = parameters
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, required = false, schema }) => {
      const value = valueOf(schema, name, document).map((one) => (Array.isArray(one) ? one : [one]));
      return (required ? value : fc.option(value, { nil: [] })).map((values) =>
        values.map((one: unknown) => [name, one] as const),
      );
    });
  return each.length === 0 ? fc.constant([]) : fc.tuple(...each).map((pairs) => pairs.flat());
}

function bodyOf({ requestBody }: Described, document: Document): fc.Arbitrary<unknown> {
  const schema = requestBody?.content['application/json'].schema;
  return schema === undefined ? fc.constant(undefined) : valueOf(schema, '', document);
}

function valueOf(part: Schema, name: string, document: Document): fc.Arbitrary<unknown> {
  const schema = resolved(part, document) as Schema;
  const { examples = [] } = schema;
  if (name.endsWith('_id') && name !== 'user_id') return idOf(name);
  const any = anyOf(schema, document);
  return examples.length === 0 ? any : fc.oneof(any, fc.constantFrom(...examples));
}

function anyOf(schema: Schema, document: Document): fc.Arbitrary<unknown> {
  const { type, pattern, minimum, maximum, minLength, maxLength, minItems, maxItems = 3, items, properties } = schema;
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (type) {
    case 'string':
      if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
      return fc.string({ unit: 'grapheme-ascii', minLength: minLength ?? 0, maxLength: Math.min(maxLength ?? 30, 30) });
    case 'integer': {
      const [min, max] = [minimum ?? -(2 ** 31), maximum ?? 2 ** 31 - 1];
      const small = fc.integer({ min, max: Math.min(max, min + 20) });
      return fc.oneof({ weight: 4, arbitrary: small }, { weight: 1, arbitrary: fc.integer({ min, max }) });
    }
    case 'number': {
      const [min, max] = [minimum ?? -1e6, maximum ?? 1e6];
      return fc.double({ min, max, noNaN: true }).map((number) => Math.round(number * 100) / 100);
    }
    case 'array':
      return fc.array(valueOf(items ?? {}, '', document), {
        minLength: minItems ?? 0,
        maxLength: Math.min(maxItems, 3),
      });
    case 'object': {
      const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, valueOf(field, name, document)]);
      return fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>, {
        requiredKeys: [...(schema.required ?? [])],
      });
    }
    default:
      throw new Error(`a schema that these tests do not know: ${JSON.stringify(schema)}`);
  }
}

type Spoil = (call: RandomCall) => RandomCall;

function breaksOf({ parameters = [], requestBody }: Described, document: Document): readonly Spoil[] {
  const ofQuery = parameters
    .filter((parameter) => parameter.in === 'query')
    .flatMap(({ name, required = false, schema }): Spoil[] => {
      const without = ({ query }: RandomCall) => query.filter(([one]) => one !== name);
      const wrong = wrongTexts(schema).map((values): Spoil => (call) => ({
        ...call,
        query: [...without(call), ...values.map((value) => [name, value] as const)],
        broken: `${name}=${values.join(',').slice(0, 40)}`,
      }));
      return [
        ...wrong,
        ...(required ? [(call: RandomCall) => ({ ...call, query: without(call), broken: `no ${name}` })] : []),
      ];
    });
  const schema = requestBody?.content['application/json'].schema;
  const ofBody =
    schema === undefined
      ? []
      : wrongValues(schema, [], document).map(([path, value]): Spoil => (call) => ({
          ...call,
          body: changedAt(call.body, path, value),
          broken: `${path.join('.')} ${(JSON.stringify(value) ?? 'gone').slice(0, 40)}`,
        }));
  return [(call) => ({ ...call, key: 'none', broken: 'no key' }), ...ofQuery, ...ofBody];
}

function wrongTexts({ type, minimum, maximum, maxItems }: Schema): readonly (readonly string[])[] {
  if (type === 'array') {
    return [['name,sideways'], ...(maxItems === undefined ? [] : [Array.from({ length: maxItems + 1 }, () => 'name')])];
  }
  if (type !== 'integer' && type !== 'number') return [];
  return [
    ['many'],
    ...(type === 'integer' ? [['1.5']] : []),
    ...(minimum === undefined ? [] : [[String(minimum - 1)]]),
    ...(maximum === undefined ? [] : [[String(maximum + 1)]]),
  ];
}

type Path = readonly (string | number)[];

function wrongValues(part: Schema, path: Path, document: Document): readonly (readonly [Path, unknown])[] {
  const schema = resolved(part, document) as Schema;
  const {
    type,
    minimum,
    maximum,
    minLength,
    maxLength,
    minItems,
    maxItems,
    items,
    properties = {},
    required = [],
  } = schema;
  const here: unknown[] = [type === 'string' ? 7 : 'text', null];
  if (schema.enum !== undefined) here.push('Nothing');
  if (type === 'integer') here.push(1.5);
  if (minimum !== undefined) here.push(minimum - 1);
  if (maximum !== undefined) here.push(maximum + 1);
  if (minLength !== undefined && minLength > 0) here.push('');
  if (maxLength !== undefined) here.push('x'.repeat(maxLength + 1));
  if (minItems !== undefined && minItems > 0) here.push([]);
  if (maxItems !== undefined) {
    here.push(Array.from({ length: maxItems + 1 }, () => ({ product_id: 'prod_country_loaf', quantity: 1 })));
  }
  return [
    ...here.map((value) => [path, value] as const),
    ...required.map((name) => [[...path, name], undefined] as const),
    ...Object.entries(properties).flatMap(([name, field]) => wrongValues(field, [...path, name], document)),
    ...(items === undefined ? [] : wrongValues(items, [...path, 0], document)),
  ];
}

function changedAt(value: unknown, [step, ...rest]: Path, to: unknown): unknown {
  if (step === undefined) return to;
  if (typeof step === 'number') {
    const [first, ...others] = value as readonly unknown[];
    return [changedAt(first, rest, to), ...others];
  }
  return { ...(value as object), [step]: changedAt(Reflect.get(Object(value) as object, step), rest, to) };
}
