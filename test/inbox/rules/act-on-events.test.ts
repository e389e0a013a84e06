import { expect, it } from 'vitest';
import type { EventKey } from '../../../src/inbox/event.ts';
import { actOnKeys, refuseTooManyKeys, type ActedRow } from '../../../src/inbox/rules/act-on-events.ts';
import type { Author } from '../../../src/inbox/rules/audit-line.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import { scripted } from './scripted-engine.ts';

const ADA: Author = { actor: 'ada', via: 'code', reason: null, now: 1_000 };
const keyOf = (id: string, endpoint = 'default'): EventKey => ({ endpoint, id });
const pending: Omit<ActedRow, keyof EventKey> = {
  seq: 1,
  type: 'order.created',
  entity: 'order',
  state: 'pending',
  deadReason: null,
  pruned: false,
  bytes: 10,
};

/** An inbox in which all events are pending, but for those of the id `none`. */
const inboxWith = (bytes = 10) =>
  scripted({
    acted: (key: EventKey) => (key.id === 'none' ? null : { ...pending, ...key, bytes }),
    addAuditLine: () => 9,
  });

it('what became of each is told and counted, with one line in the audit', () => {
  const { engine, of } = inboxWith();
  const keys = [keyOf('a'), keyOf('none'), keyOf('b')];
  expect(atOnce(actOnKeys(engine, 'discard', keys, ADA, {}))).toEqual({
    results: [
      { key: keys[0], result: 'done' },
      { key: keys[1], result: 'unknown' },
      { key: keys[2], result: 'done' },
    ],
    counts: { done: 2, unknown: 1 },
    audit: 9,
  });
  expect(of('discard', 'addAuditLine').map(([name]) => name)).toEqual(['discard', 'discard', 'addAuditLine']);
  // The entity moves on once.
  expect(of('nextInQueues').map(([, queues]) => queues)).toMatchObject([[{ endpoint: 'default' }]]);
});

it.each<[readonly EventKey[], force: boolean, about: object]>([
  [[keyOf('a'), keyOf('b')], false, { endpoint: 'default', ids: ['a', 'b'] }],
  [[keyOf('a')], true, { endpoint: 'default', ids: ['a'], force: true }],
  [
    [keyOf('a'), keyOf('a', 'shop-b')],
    false,
    {
      events: [
        { endpoint: 'default', ids: ['a'] },
        { endpoint: 'shop-b', ids: ['a'] },
      ],
    },
  ],
  [[], false, { events: [] }],
])('the audit says what an act on %j was about (forced: %s)', (keys, force, about) => {
  const { engine, of } = inboxWith();
  atOnce(actOnKeys(engine, 'rerun', keys, ADA, { force }));
  expect(of('addAuditLine').map(([, , , said]) => said)).toEqual([about]);
});

it.each<[count: number, bytes: number, refused: RegExp | null]>([
  [500, 1_024, null],
  [501, 1, /at most 500 events, but this one received 501/],
  [2, 256 * 1024, null],
  [2, 256 * 1024 + 1, /total at most 524288 bytes, but the bodies of these 2 events total 524290/],
  // One may have as much as it has.
  [1, 2 ** 30, null],
])('%i events of %i bytes are refused: %s', (count, bytes, refused) => {
  const keys = Array.from({ length: count }, (_, n) => keyOf(String(n)));
  const act = () => atOnce(refuseTooManyKeys(inboxWith(bytes).engine, keys));
  if (refused === null) expect(act).not.toThrow();
  else expect(act).toThrow(refused);
});
