import { describe, expect, it } from 'vitest';
import { acceptEvent } from '../../../src/inbox/rules/accept-event.ts';
import { firstStateOf } from '../../../src/inbox/rules/first-state.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { incoming, invalidIncoming } from '../../helpers/incoming-event.ts';
import { scripted } from './scripted-engine.ts';

const known = {
  seq: 7,
  entity: 'before',
  state: 'pending',
  invalid: false,
  verified: true,
  body: Buffer.from('{}'),
  hash: null,
} as const;

it('a valid event begins as pending, an invalid one as dead and settled', () => {
  expect(firstStateOf({ valid: true, receivedAt: 5 })).toEqual({
    state: 'pending',
    deadReason: null,
    settledAt: null,
    isFresh: true,
  });
  expect(firstStateOf({ valid: false, receivedAt: 5 })).toEqual({
    state: 'dead',
    deadReason: 'invalid',
    settledAt: 5,
    isFresh: false,
  });
});

describe('an event whose key is new', () => {
  it.each([
    [incoming(), [['count', 'stored', 'order.created']]],
    [
      invalidIncoming(),
      [
        ['count', 'stored', null],
        ['count', 'dead', null],
      ],
    ],
  ])('is stored and counted', (event, counted) => {
    const { engine, asked } = scripted({ insert: () => true });
    expect(atOnce(acceptEvent(engine, event))).toEqual({ result: 'stored', conflict: false, replaced: false });
    expect(asked).toEqual([['insert', event, firstStateOf(event)], ...counted]);
  });
});

describe('an event whose key is known', () => {
  function again(event: ReturnType<typeof incoming>, before: object = known) {
    const { engine, of } = scripted({
      insert: () => false,
      known: () => before,
      redeliveries: () => null,
      conflicts: () => null,
    });
    return { ...atOnce(acceptEvent(engine, event)), of };
  }
  const at = 9_000;
  const times = { count: 1, first: at, last: at, recent: [at] };

  it('is only counted when its bytes are the same', () => {
    const { conflict, replaced, of } = again(incoming({ receivedAt: at }));
    expect([conflict, replaced]).toEqual([false, false]);
    expect(of('count')).toEqual([['count', 'duplicate', '']]);
    expect(of('saveRedeliveries')).toEqual([['saveRedeliveries', 7, times]]);
    expect(of('saveConflict', 'replace', 'markVerified')).toEqual([]);
  });

  it('is verified by a signature', () => {
    const { of } = again(incoming(), { ...known, verified: false });
    expect(of('markVerified', 'replace')).toEqual([['markVerified', 7]]);
  });

  it('is kept beside the first when its bytes differ', () => {
    const event = incoming({ body: 'other', receivedAt: at });
    const { conflict, of } = again(event);
    expect(conflict).toBe(true);
    expect(of('saveConflict')).toEqual([['saveConflict', 7, times, event.body]]);
    expect(of('count').map(([, what]) => what)).toEqual(['duplicate', 'conflict']);
  });

  it('leaves no bytes beside one that was erased', () => {
    const erased = { ...known, state: 'dead', invalid: true, erased: true };
    const { conflict, of } = again(incoming({ body: 'other', receivedAt: at }), erased);
    expect(conflict).toBe(true);
    expect(of('saveConflict')).toEqual([['saveConflict', 7, times, new Uint8Array()]]);
  });

  it('takes the place of an invalid one, whose body is kept beside it; both entities may move on', () => {
    const event = incoming({ body: 'other', receivedAt: at });
    const { replaced, of } = again(event, { ...known, state: 'dead', invalid: true });
    expect(replaced).toBe(true);
    expect(of('saveConflict')).toEqual([['saveConflict', 7, times, known.body]]);
    expect(of('replace')).toEqual([['replace', 7, event, firstStateOf(event)]]);
    expect(of('nextInQueues').flatMap(([, queues]) => queues)).toEqual([
      { endpoint: 'default', entity: 'before' },
      { endpoint: 'default', entity: event.entity },
    ]);
  });
});
