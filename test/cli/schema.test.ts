import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it } from 'vitest';
import expectations from '../../fixtures/edge/expectations.json' with { type: 'json' };
import { eventTypes, isEventType } from '../../src/events/event-types.ts';
import { fixture } from '../../src/testing/fixtures.ts';
import { runHookbox } from './run-hookbox.ts';

interface JsonSchema {
  readonly $schema: string;
  readonly title: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

type Schemas = Readonly<Record<string, JsonSchema>>;
type Validate = (value: unknown) => boolean;

/** Ajv, which Fastify brings along. */
function compile(schema: object): Validate {
  const ofFastify = createRequire(import.meta.resolve('fastify'));
  const { Ajv2020 } = createRequire(ofFastify.resolve('@fastify/ajv-compiler'))('ajv/dist/2020.js') as {
    readonly Ajv2020: new (options: object) => { compile(schema: object): Validate };
  };
  return new Ajv2020({ strict: true, allowUnionTypes: true }).compile(schema);
}

let schemas: Schemas;
beforeAll(async () => {
  const { code, stdout, stderr } = await runHookbox(['schema', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  schemas = JSON.parse(stdout) as Schemas;
});

describe('hookbox schema --json', () => {
  it('is keyed by type, in the order of the interface', () => {
    expect(Object.keys(schemas)).toEqual(eventTypes);
    for (const [type, { $schema, title, properties }] of Object.entries(schemas)) {
      expect($schema).toBe('https://json-schema.org/draft/2020-12/schema');
      expect(title).toBe(type);
      expect(properties['type']).toMatchObject({ const: type });
    }
  });

  it.each(eventTypes)('describes fixtures/%s.json, and no event of another type', (type) => {
    const validate = compile(schemas[type] ?? {});
    for (const other of eventTypes) expect(validate(JSON.parse(fixture(other).toString()))).toBe(other === type);
  });

  /** What JSON Schema cannot say: that keys stand once, that a text is a time, that it is well formed. */
  const beyond = new Set([
    'invalid-duplicate-keys',
    'invalid-created',
    'rejected-invalid-utf8',
    'rejected-id-lone-surrogate',
  ]);
  const cases = Object.entries(expectations).flatMap(([name, { expect }]) => {
    const text = fixture(`edge/${name}`).toString();
    try {
      const event = JSON.parse(text) as { readonly type?: unknown } | null;
      const type = event?.type;
      const isOurs = typeof type === 'string' && isEventType(type) && !beyond.has(name);
      return isOurs ? [{ name, type, event, valid: expect === 'known' }] : [];
    } catch {
      return [];
    }
  });

  it.each(cases)('agrees with hookbox about edge/$name', ({ type, event, valid }) => {
    expect(compile(schemas[type] ?? {})(event)).toBe(valid);
  });

  it('covers most edge cases that way', () => expect(cases.length).toBeGreaterThanOrEqual(15));

  it.each(['order.confirmed', 'cart.abandoned'])('of one type is that of %s alone', async (type) => {
    const { code, stdout } = await runHookbox(['schema', type, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(schemas[type]);
  });
});

describe('hookbox schema', () => {
  it('outlines one type', async () => {
    const ran = await runHookbox(['schema', 'cart.abandoned']);
    expect(ran).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'cart.abandoned: a cart was inactive for a set period',
        '  id                text of 1 to 255 characters (the id of the event; the same in each redelivery)',
        '  type              "cart.abandoned"',
        '  created           text (an ISO 8601 date-time; without a zone it is UTC)',
        '  data              object',
        '    object?         text or null (order, inventory or cart)',
        '    id?             text or null',
        '    user_id?        text or null',
        '    merchant_id?    text or null',
        '    last_activity?  text or null (an ISO 8601 date-time)',
        '    total_value?    number or null',
        '    item_count?     integer or null',
        '',
      ].join('\n'),
    });
  });

  it('outlines lists with what is in them', async () => {
    const { stdout } = await runHookbox(['schema', 'order.created']);
    expect(stdout).toMatch(
      /\n {4}items\? +list of objects or null\n {6}product_id\? +text or null\n {6}quantity\? +number or null\n/,
    );
  });

  it('outlines all types', async () => {
    const { code, stdout } = await runHookbox(['schema']);
    expect(code).toBe(0);
    expect(stdout.match(/^\S+(?=: )/gm)).toEqual(eventTypes);
  });
});
