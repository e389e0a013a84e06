// @module-tag long
import { expect, test } from 'vitest';
import { documentAsJson, type Document } from './described.ts';
import { heldByPrism } from './held-by-prism.ts';
import { randomCalls } from './random-calls.ts';

const wish = process.env['HOOKBOX_CALLS_SEED'];

/** `HOOKBOX_CALLS_SEED=random` makes other calls; the seed that is printed repeats them. */
const seed = wish === 'random' ? Date.now() % 2 ** 31 : Number(wish ?? 20_260_101);

test('1,000 random calls, valid and invalid, and their answers fit the document', { timeout: 300_000 }, async () => {
  const document = documentAsJson();
  const calls = randomCalls(document, seed, 1_000);
  const { violations, statuses } = await heldByPrism(document, calls);
  const broken = calls.filter((call) => call.broken !== null).length;
  console.log(`seed ${seed}: ${calls.length} calls, ${broken} of them invalid; statuses`, Object.fromEntries(statuses));
  expect(violations, `seed ${seed}`).toEqual([]);
  for (const status of [200, 201, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504]) {
    expect(statuses.has(status), `status ${status}`).toBe(true);
  }
  expect(new Set(calls.map(({ operation }) => operation.operationId)).size).toBe(12);
  expect(broken).toBeGreaterThan(250);
});

const MUTANTS: readonly (readonly [what: string, operation: string, spoil: (document: Document) => void])[] = [
  ['a field that answers have and the document has not', 'listMerchants', without('Merchant', 'capabilities')],
  [
    'a status that is not in the document',
    'getCart',
    ({ paths }) => delete paths['/cart/{id}']?.['get']?.responses['404'],
  ],
  ['an error whose fields are others', 'createOrder', without('ValidationError', 'error')],
  [
    'a request that the sandbox refuses and the document allows',
    'updateCartItem',
    without('CartItemChange', 'quantity'),
  ],
];

test.each(MUTANTS)('finds %s', { timeout: 120_000 }, async (_, name, spoil) => {
  const document = documentAsJson();
  const calls = randomCalls(document, seed, 1_000).filter(({ operation }) => operation.operationId === name);
  spoil(document);
  expect((await heldByPrism(document, calls.slice(0, 50))).violations).not.toEqual([]);
});

function without(schema: string, field: string): (document: Document) => void {
  return ({ components }) => {
    const { properties = {}, required = [], ...rest } = components.schemas[schema] ?? {};
    const { [field]: _, ...others } = properties;
    components.schemas[schema] = { ...rest, properties: others, required: required.filter((one) => one !== field) };
  };
}
