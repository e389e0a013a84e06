import { expect, it } from 'vitest';
import { entityTerms, idsIn, termsOf, type NamesInBody } from '../../../src/inbox/rules/search-words.ts';

const none: NamesInBody = { entity: null, ids: [], merchant: null };
const body: NamesInBody = { entity: 'order:mer_7:ord_42', ids: ['ord_42', 'crt_1'], merchant: 'mer_7' };

it.each<[string, string | null, NamesInBody, readonly string[]]>([
  ['by its entity, the id in it and its merchant', 'order:mer_7:ord_42', body, ['order:mer_7:ord_42', 'ord_42']],
  ['without a body', 'order:mer_7:ord_42', none, ['order:mer_7:ord_42', 'ord_42']],
  ['without an entity by what its body says', null, body, ['order:mer_7:ord_42', 'ord_42', 'crt_1']],
  ['by a name of the merchant’s own', 'my order', body, ['my order']],
])('an event is found %s', (_, entity, names, found) => {
  expect(termsOf(entity, names)).toEqual(new Set([...found.map((name) => `entity ${name}`), 'merchant mer_7']));
});

it('what says nothing is not found', () => {
  expect(termsOf(null, none)).toEqual(new Set());
  expect(entityTerms(none)).toEqual([]);
});

it.each([
  ['order:mer_7:ord_42', ['ord_42']],
  ['inventory:mer_7:loc_2:prd_3', ['loc_2', 'prd_3']],
  ['order::a%3Ab', ['a:b']],
  ['order:mer_7', []],
  ['mine:mer_7:ord_42', []],
])('in %s the ids are %j', (entity, ids) => {
  expect(idsIn(entity)).toEqual(ids);
});
