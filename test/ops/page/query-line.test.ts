import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { FIELDS } from '../../../src/page/parts/filter-fields.ts';
import { printQueryLine, readQueryLine } from '../../../src/page/parts/query-line.ts';

test.for([
  ['state:dead  type:order.created', { state: 'dead', type: 'order.created' }, null],
  ['error:"connect timed out" ord_42', { error: 'connect timed out' }, 'ord_42'],
  ['body:ada@shop.example', { bodyText: 'ada@shop.example' }, null],
  ['body.data.items[0].name:Tea', { body: 'data.items[0].name=Tea' }, null],
  [String.raw`body."data.odd: \"name\"":"a b"`, { body: 'data.odd: "name"=a b' }, null],
  [
    'group:5f3a failed-since:2h dead-reason:failed',
    { fingerprint: '5f3a', failedSince: '2h', deadReason: 'failed' },
    null,
  ],
  ['order:mer_7:ord_42', {}, 'order:mer_7:ord_42'],
  ['TillError: the  till is "shut"', {}, 'TillError: the  till is "shut"'],
  ['"state:dead"', {}, 'state:dead'],
  ['https://shop.example', {}, 'https://shop.example'],
  ['  ', {}, null],
] as const)('%s', ([line, fields, text]) => {
  expect(readQueryLine(line)).toEqual({ fields: Object.entries(fields), text, problems: [] });
});

test.for([
  ['sate:dead', 'Unknown filter sate. Did you mean state? To search for it as text, put it in quotes.'],
  [
    'state: dead',
    'state has no value. Write the value right after the colon. To search for it as text, put it in quotes.',
  ],
  [
    'body.data.total:',
    'body.data.total has no value. Write the value right after the colon. To search for it as text, put it in quotes.',
  ],
  ['error:"timed out', 'The quote after error: has no end. Add a quote at the end of the value.'],
] as const)('%s is not understood', ([line, said]) => {
  expect(readQueryLine(line).problems).toEqual([said]);
});

test('what is printed is read again, whatever the fields and the text are', () => {
  const text = fc.string({ minLength: 1, maxLength: 30, unit: 'binary' }).filter((one) => one.trim() === one);
  const words = fc.array(fc.constantFrom('state:', 'dead', '"', '\\', ' ', 'body.', 'a:', '=', '\n', 'type:x'), {
    minLength: 1,
  });
  const value = fc.oneof(
    text,
    words.map((parts) => parts.join('').trim()).filter((one) => one !== ''),
  );
  const field = fc.oneof(
    fc.tuple(fc.constantFrom(...FIELDS.filter((name) => name !== 'body')), value),
    fc.tuple(
      fc.constant('body'),
      fc.tuple(value, value).map(([path, wanted]) => `${path.replaceAll('=', '')}x=${wanted}`),
    ),
  );
  const holds = fc.property(fc.array(field, { maxLength: 4 }), fc.option(value), (fields, sought) => {
    const line = printQueryLine({ fields, text: sought });
    expect(readQueryLine(line)).toEqual({ fields, text: sought, problems: [] });
  });
  fc.assert(holds, { numRuns: 500 });
});
