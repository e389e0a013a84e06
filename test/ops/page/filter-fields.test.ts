import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deadReasons, eventStates } from '../../../src/inbox/event.ts';
import type { EventFilter } from '../../../src/inbox/operator/search.ts';
import { shortTime } from '../../../src/ops/words/format.ts';
import { readFilter, filterFields } from '../../../src/page/parts/filter-fields.ts';

const NOW = new Date('2026-03-14T03:59:07.250Z');

function read(query: string): ReturnType<typeof readFilter> {
  return readFilter(new URLSearchParams(query), NOW);
}

test('what a link says is what is read', () => {
  const text = fc.string({ minLength: 1, maxLength: 60, unit: 'grapheme' }).filter((value) => value === value.trim());
  const flag = fc.option(fc.boolean(), { nil: undefined });
  const word = fc.option(text, { nil: undefined });
  const moment = fc.option(fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }), {
    nil: undefined,
  });
  const path = fc.stringMatching(/^[a-z]{1,5}(\.[a-z]{1,5}|\[\d\]){0,3}$/);
  const filters = fc.record({
    endpoint: word,
    id: word,
    events: fc.option(fc.uniqueArray(fc.record({ endpoint: text, id: text }), { minLength: 1, maxLength: 3 }), {
      nil: undefined,
    }),
    types: fc.option(fc.uniqueArray(text, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    states: fc.option(fc.subarray([...eventStates], { minLength: 1 }), { nil: undefined }),
    deadReasons: fc.option(fc.subarray([...deadReasons], { minLength: 1 }), { nil: undefined }),
    since: moment,
    until: moment,
    failedSince: moment,
    failedUntil: moment,
    entity: word,
    merchant: word,
    error: word,
    text: word,
    bodyText: word,
    fingerprint: word,
    ignoredSince: moment,
    retrying: flag,
    redelivered: flag,
    superseded: flag,
    conflict: flag,
    body: fc.option(
      fc.uniqueArray(fc.record({ path, value: fc.string() }), {
        minLength: 1,
        maxLength: 3,
        selector: ({ path: at, value }) => `${at}=${value}`,
      }),
      { nil: undefined },
    ),
  });
  const holds = fc.property(filters, (asked) => {
    const filter = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined)) as EventFilter;
    const query = new URLSearchParams(filterFields(filter)).toString();
    expect(read(query)).toEqual({ filter, problems: [] });
  });
  fc.assert(holds, { numRuns: 200 });
});

test('fields that were left alone ask for nothing', () => {
  expect(read('id=&entity=++&type=&body=&since=&retrying=&before=17&done=rerun&x=')).toEqual({
    filter: {},
    problems: [],
  });
});

test('a name that is none is said, and not left out of the filter unseen', () => {
  const { filter, problems } = read('states=dead&states=ignored&id=evt_1&__proto__=x');
  expect(filter).toEqual({ id: 'evt_1' });
  const known =
    'endpoint, id, event, type, state, deadReason, since, until, failedSince, failedUntil, entity, merchant, error, text, ' +
    'fingerprint, ignoredSince, retrying, redelivered, conflict, superseded, bulk, body and bodyText';
  expect(problems).toEqual([
    `Unknown filter field "states". Allowed: ${known}.`,
    `Unknown filter field "__proto__". Allowed: ${known}.`,
  ]);
  const many = Array.from({ length: 5_000 }, (_, n) => `x${n}=1`).join('&');
  expect(read(many).problems.length).toBe(10);
});

test('what is pasted with white space around it is found', () => {
  expect(read('id=%20evt_1%0A&entity=ord_42%20').filter).toEqual({ id: 'evt_1', entity: 'ord_42' });
});

describe('times', () => {
  test.for([
    ['2h', '2026-03-14T01:59:07.250Z'],
    ['15 m', '2026-03-14T03:44:07.250Z'],
    ['30s', '2026-03-14T03:58:37.250Z'],
    ['7d', '2026-03-07T03:59:07.250Z'],
    ['2026-03-14', '2026-03-14T00:00:00.000Z'],
    ['2026-03-14 03:00', '2026-03-14T03:00:00.000Z'],
    ['2026-03-14 03:00:09 UTC', '2026-03-14T03:00:09.000Z'],
    ['2026-03-14T03:00:09.5', '2026-03-14T03:00:09.500Z'],
    ['2026-03-14T03:00:09+02:00', '2026-03-14T01:00:09.000Z'],
    // As the page writes them: without a day or a year it is the last one that was.
    ['2h ago', '2026-03-14T01:59:07.250Z'],
    ['03:12', '2026-03-14T03:12:00.000Z'],
    ['3:12 UTC', '2026-03-14T03:12:00.000Z'],
    ['14:00', '2026-03-13T14:00:00.000Z'],
    ['31 Jan 08:00', '2026-01-31T08:00:00.000Z'],
    ['1 Feb 08:00:05 UTC', '2026-02-01T08:00:05.000Z'],
    ['31 Dec 08:00', '2025-12-31T08:00:00.000Z'],
    ['31 Dec 2024 08:00 UTC', '2024-12-31T08:00:00.000Z'],
  ] as const)('%s is %s', ([text, expected]) => {
    expect(read(new URLSearchParams({ since: text }).toString())).toEqual({
      filter: { since: new Date(expected) },
      problems: [],
    });
  });

  test.for([
    'yesterday',
    'ago',
    '-2h',
    '25:00',
    '14:60',
    '14',
    '31 Feb 08:00',
    '31 Foo 08:00',
    '2026-02-30',
    '2026-03-14 25:00',
    '99999999999d',
    '999999999d',
    '1e3h',
    '14.03.2026',
  ] as const)('%s is none', (text) => {
    const { filter, problems } = read(new URLSearchParams({ until: text }).toString());
    expect(filter).toEqual({});
    expect(problems).toEqual([
      `until must be a time such as 15m, 2h, 7d, 14:00 or 2026-01-31 08:00 (UTC), not "${text}".`,
    ]);
  });
});

test('takes every time that a list shows, as it shows it', () => {
  for (let n = 0; n < 500; n += 1) {
    const at = new Date(Math.floor((NOW.getTime() - n * n * 6_000_000) / 60_000) * 60_000);
    const shown = shortTime(at, NOW);
    expect([shown, read(new URLSearchParams({ since: shown }).toString()).filter]).toEqual([shown, { since: at }]);
  }
});

test('says what is wrong with each field that cannot be read', () => {
  const { filter, problems } = read('state=dead&state=undead&deadReason=bored&retrying=maybe&body=data.x&body==1&id=a');
  expect(filter).toEqual({ id: 'a', states: ['dead'] });
  expect(problems).toEqual([
    'state must be one of pending, processing, processed, dead, ignored and discarded, not "undead".',
    'deadReason must be one of failed, crashed and invalid, not "bored".',
    'retrying must be yes or no, not "maybe".',
    'body must be a path and a value, such as data.items[0].name=Espresso, not "data.x".',
    'body must be a path and a value, such as data.items[0].name=Espresso, not "=1".',
  ]);
});

test('repeats no more of a text than fits, and nothing that turns others round', () => {
  expect(read(`id=${'x'.repeat(1_001)}`)).toEqual({ filter: {}, problems: ['id must have at most 1000 characters.'] });
  expect(read('state=%E2%80%AEdaed%0A').problems).toEqual([
    'state must be one of pending, processing, processed, dead, ignored and discarded, not "\\u{202e}daed\\u{a}".',
  ]);
});
