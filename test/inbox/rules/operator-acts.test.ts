import { describe, expect, it } from 'vitest';
import type { Act, ActResult } from '../../../src/inbox/operator/acts.ts';
import type { EventFilter } from '../../../src/inbox/operator/filter.ts';
import { bodyToday, decideOnStored } from '../../../src/inbox/rules/body-today.ts';
import {
  askedByFilter,
  askedByKey,
  decideAct,
  mayBeDone,
  needsBody,
  type ActedEvent,
  type BodyToday,
} from '../../../src/inbox/rules/operator-acts.ts';
import type { EventState } from '../../../src/inbox/state.ts';
import { orderEvent } from '../../helpers/order-event.ts';

const TODAY: BodyToday = { type: 'order.created', created: { ms: 5, ns: 0 }, entity: 'order:mer_7:ord_7' };
const DATES = { type: TODAY.type, created: TODAY.created };

const TO_PENDING = { name: 'toPending', content: TODAY };
const AGAIN = { name: 'processedToPending' };
const DISCARD = { name: 'discard', content: null };
const DISCARD_INVALID = { name: 'discard', content: DATES };

const events = {
  pending: { state: 'pending', deadReason: null, pruned: false },
  processing: { state: 'processing', deadReason: null, pruned: false },
  processed: { state: 'processed', deadReason: null, pruned: false },
  failed: { state: 'dead', deadReason: 'failed', pruned: false },
  crashed: { state: 'dead', deadReason: 'crashed', pruned: false },
  invalid: { state: 'dead', deadReason: 'invalid', pruned: false },
  ignored: { state: 'ignored', deadReason: null, pruned: false },
  discarded: { state: 'discarded', deadReason: null, pruned: false },
  'processed tombstone': { state: 'processed', deadReason: null, pruned: true },
  'failed tombstone': { state: 'dead', deadReason: 'failed', pruned: true },
  'crashed tombstone': { state: 'dead', deadReason: 'crashed', pruned: true },
  'invalid tombstone': { state: 'dead', deadReason: 'invalid', pruned: true },
  'ignored tombstone': { state: 'ignored', deadReason: null, pruned: true },
  'discarded tombstone': { state: 'discarded', deadReason: null, pruned: true },
  'erased, with a body': { state: 'processed', deadReason: null, pruned: false, erased: true },
} as const satisfies Record<string, ActedEvent>;

const acts = {
  rerun: askedByKey('rerun', false),
  forced: askedByKey('rerun', true),
  discard: askedByKey('discard', false),
};

type Kind = keyof typeof events;
type Name = keyof typeof acts;
/** What is decided when the body fits today, and when it does not; as one where the body is not asked. */
type Expected = readonly [fits: unknown, doesNot: unknown] | Exclude<ActResult, 'done'> | typeof DISCARD;

const NOT = 'not needed';
const rerun = [TO_PENDING, 'still invalid'] as const;
const table: Record<Kind, Readonly<Record<Name, Expected>>> = {
  pending: { rerun: NOT, forced: NOT, discard: DISCARD },
  processing: { rerun: NOT, forced: NOT, discard: NOT },
  processed: { rerun: NOT, forced: [AGAIN, 'still invalid'], discard: NOT },
  failed: { rerun, forced: rerun, discard: DISCARD },
  crashed: { rerun, forced: rerun, discard: DISCARD },
  invalid: { rerun, forced: rerun, discard: [DISCARD_INVALID, 'still invalid'] },
  ignored: { rerun, forced: rerun, discard: NOT },
  discarded: { rerun, forced: rerun, discard: NOT },
  'processed tombstone': { rerun: NOT, forced: 'pruned', discard: NOT },
  'failed tombstone': { rerun: 'pruned', forced: 'pruned', discard: DISCARD },
  'crashed tombstone': { rerun: 'pruned', forced: 'pruned', discard: DISCARD },
  'invalid tombstone': { rerun: 'pruned', forced: 'pruned', discard: 'pruned' },
  'ignored tombstone': { rerun: 'pruned', forced: 'pruned', discard: NOT },
  'discarded tombstone': { rerun: 'pruned', forced: 'pruned', discard: NOT },
  'erased, with a body': { rerun: NOT, forced: NOT, discard: NOT },
};
const cases = Object.entries(table).flatMap(([kind, byAct]) =>
  Object.entries(byAct).map(([act, expected]) => ({ kind: kind as Kind, act: act as Name, expected })),
);

describe('an act on an event', () => {
  it.each(cases)('$act of one that is $kind', ({ kind, act, expected }) => {
    const asked = acts[act];
    const event = events[kind];
    const isAsked = Array.isArray(expected);
    const [fits, doesNot] = isAsked ? (expected as readonly unknown[]) : [expected, expected];

    expect(decided(decideAct(asked, event, TODAY))).toEqual(fits);
    expect(decided(decideAct(asked, event, null))).toEqual(doesNot);
    expect(needsBody(asked, event)).toBe(isAsked);
    // What a preview counts is what a run can do, but for what bodies say.
    expect(mayBeDone(asked, event)).toBe(isAsked || expected === DISCARD);
  });

  it.each(Object.values(acts))('$act on nothing is unknown', (asked) => {
    expect(decideAct(asked, null, null)).toEqual({ result: 'unknown' });
    expect(decideOnStored(asked, null)).toEqual({ result: 'unknown' });
  });

  it.each<[Act, boolean, EventFilter, found: readonly EventState[]]>([
    ['rerun', false, {}, ['dead']],
    ['rerun', true, {}, ['dead', 'ignored', 'discarded', 'processed']],
    ['rerun', false, { states: ['ignored'] }, ['ignored']],
    ['rerun', false, { states: ['discarded'] }, ['discarded']],
    ['rerun', false, { states: ['processed', 'pending'] }, []],
    ['rerun', true, { states: ['dead'] }, ['dead']],
    ['rerun', false, { ignoredSince: new Date(5) }, ['ignored']],
    ['rerun', false, { ignoredSince: new Date(5), states: ['dead'] }, ['dead']],
    ['discard', false, {}, ['dead', 'pending']],
    ['discard', true, { states: ['dead', 'processed'] }, ['dead']],
  ])('%s (forced: %s) by the filter %j is for %j', (act, force, filter, found) => {
    expect(askedByFilter(act, force, filter)).toEqual({ act, states: found });
  });

  it.each<[Act, boolean, readonly EventState[], Kind, result: ActResult]>([
    ['rerun', false, ['dead'], 'ignored', 'changed'],
    ['rerun', false, ['ignored'], 'failed', 'changed'],
    ['rerun', false, ['ignored'], 'discarded', 'changed'],
    ['rerun', true, ['processed'], 'failed', 'changed'],
    ['rerun', true, ['dead'], 'processed', 'not needed'],
    ['rerun', false, ['dead'], 'processing', 'not needed'],
    ['rerun', false, [], 'failed', 'changed'],
    ['discard', false, ['dead'], 'pending', 'changed'],
    ['discard', false, ['pending'], 'processed', 'not needed'],
    ['retry-now', false, ['dead'], 'pending', 'changed'],
  ])('%s (forced: %s) of what was %j leaves one alone that is %s: %s', (act, force, states, kind, result) => {
    expect(decideAct(askedByKey(act, force, states), events[kind], TODAY)).toEqual({ result });
  });
});

describe('what a body says today', () => {
  const { body, entity } = orderEvent('evt', { order: 'ord_7' });
  const unfit = Buffer.from('{"id":"evt"}');
  const byMyRule = () => 'by my rule';
  const invalid = { state: 'dead', deadReason: 'invalid', entity: null } as const;

  it.each<[string, Parameters<typeof bodyToday>, expected: string | null]>([
    [
      'keeps its entity',
      ['rerun', { state: 'dead', deadReason: 'failed', entity: 'as received' }, body, byMyRule],
      'as received',
    ],
    ['stands alone if it did', ['rerun', { state: 'dead', deadReason: 'failed', entity: null }, body, byMyRule], null],
    ['was invalid: it gets one by the rule of its receiver', ['rerun', invalid, body, byMyRule], 'by my rule'],
    ['was invalid, and its receiver has no rule', ['rerun', invalid, body], entity],
    [
      'may have been invalid before it was discarded',
      ['rerun', { state: 'discarded', deadReason: null, entity: null }, body, byMyRule],
      'by my rule',
    ],
    [
      'was discarded with its entity',
      ['rerun', { state: 'discarded', deadReason: null, entity: 'as received' }, body, byMyRule],
      'as received',
    ],
    ['is discarded: the rule has its turn with a rerun', ['discard', invalid, body, byMyRule], null],
    ['was invalid, and the rule names nothing', ['rerun', invalid, body, () => ''], null],
  ])('of an event that %s', (_, asked, expected) => {
    expect(bodyToday(...asked)).toMatchObject({ type: 'order.created', entity: expected });
  });

  it('is nothing where it does not fit', () => {
    expect(bodyToday('rerun', invalid, unfit)).toBeNull();
    expect(bodyToday('rerun', invalid, Buffer.from('{'))).toBeNull();
  });
});

it('a stored event is decided on with the body that it has', () => {
  const { created, ...event } = orderEvent('evt', { order: 'ord_7' });
  const none = { count: 0, firstAt: null, lastAt: null, recent: [] };
  const stored = {
    ...event,
    created,
    seq: 1,
    state: 'dead',
    deadReason: 'invalid',
    receivedAt: new Date(0),
    redeliveries: none,
    conflict: null,
  } as const;
  const content = { type: 'order.created', created, entity: 'by my rule' };
  expect(decideOnStored(acts.rerun, { ...stored, entity: null }, () => 'by my rule')).toEqual({
    result: 'done',
    move: { name: 'toPending', content },
  });
  expect(decideOnStored(acts.rerun, { ...stored, body: Buffer.from('{}') })).toEqual({ result: 'still invalid' });
  expect(decideOnStored(acts.rerun, { ...stored, body: null })).toEqual({ result: 'pruned' });
  expect(decideOnStored(acts.discard, { ...stored, deadReason: 'failed', body: null })).toMatchObject({
    result: 'done',
  });
});

/** The move where there is one, or the result. */
function decided(decision: ReturnType<typeof decideAct>): unknown {
  return decision.result === 'done' ? decision.move : decision.result;
}
