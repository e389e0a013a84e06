import { expect, it } from 'vitest';
import { ErasedNames } from '../../../src/inbox/rules/erased-names.ts';

const ORDER = 'order:mer_1:ord_7';
const STOCK = 'inventory:mer_1:loc_2:prd_3';

it.each<[event: string, entity: string | null, erased: string, text: string, expected: string]>([
  ['evt_1', ORDER, ORDER, `rerun evt_1 of ${ORDER}`, 'rerun (erased) of (erased)'],
  ['evt_1', ORDER, 'ord_7', `ord_7, or ${ORDER}`, '(erased), or (erased)'],
  // No part of a longer name.
  ['evt_1', ORDER, 'ord_7', 'evt_10 ord_77', 'evt_10 ord_77'],
  // The event named both; only the one of the entity goes.
  ['evt_1', ORDER, 'cart:mer_1:c', `ord_7 ${ORDER}`, 'ord_7 (erased)'],
  // A product is one for all of its locations, and a location for all of its products.
  ['evt_1', STOCK, STOCK, `loc_2 prd_3 ${STOCK}`, 'loc_2 prd_3 (erased)'],
  ['evt_1', null, 'ord_7', 'evt_1: ord_7', '(erased): (erased)'],
])('of %s about %j nothing is said once %s is erased: %s', (id, entity, erased, text, expected) => {
  const names = new ErasedNames();
  names.addEntity(erased);
  names.addNamesOf({ id, entity }, erased);
  expect(names.hideInReason(text)).toBe(expected);
  expect(names.hideInAll({ ids: [text], limit: 1 })).toEqual({ ids: [expected], limit: 1 });
});

it('who gave no reason has none', () => {
  expect(new ErasedNames().hideInReason(null)).toBeNull();
});
