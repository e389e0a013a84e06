import { expect, it } from 'vitest';
import type { EventState } from '../../../src/inbox/event.ts';
import type { StoredBulk, Author } from '../../../src/inbox/operator/acts.ts';
import type { ActedRow } from '../../../src/inbox/rules/operator-acts.ts';
import {
  actingOf,
  hasEnded,
  oldBulks,
  planProgress,
  planSnapshot,
  planStart,
  refuseTooMany,
  runOf,
} from '../../../src/inbox/rules/bulks.ts';

const NOW = 1_000;
const ADA: Author = { actor: 'ada', via: 'cli', reason: null, now: NOW };
const SINCE = new Date(5);
const nothing = { states: {}, types: {}, deadReasons: {}, endpoints: {} };
const previewed: StoredBulk = {
  id: 3,
  act: 'discard',
  state: 'previewed',
  filter: { since: SINCE },
  force: false,
  actor: 'bob',
  reason: 'the shop was down',
  createdAt: new Date(1),
  startedAt: null,
  endedAt: null,
  total: 4,
  breakdown: nothing,
  worked: 0,
  counts: {},
  ratePerSecond: null,
  ranMs: 0,
  audit: null,
  heartbeat: null,
};

const eventOf = (seq: number, state: EventState, changes: Partial<ActedRow> = {}): ActedRow => ({
  seq,
  endpoint: 'default',
  id: `evt_${seq}`,
  type: 'order.created',
  entity: null,
  state,
  deadReason: state === 'dead' ? 'failed' : null,
  pruned: false,
  bytes: 10,
  ...changes,
});

it.each<[StoredBulk['state'], boolean]>([
  ['previewed', false],
  ['running', false],
  ['done', true],
  ['cancelled', true],
])('a bulk that is %s has ended: %s', (state, ended) => {
  expect(hasEnded({ state })).toBe(ended);
});

it.each<[Partial<StoredBulk>, reason: string | null, said: string | null, about: object]>([
  [{}, null, 'the shop was down', {}],
  [{}, 'my own', 'my own', {}],
  [{ reason: null }, null, null, {}],
  [{ force: true }, null, 'the shop was down', { force: true }],
])('of a preview with %j, run for %j, the audit says %j', (changes, reason, said, about) => {
  expect(planStart({ ...previewed, ...changes }, { ...ADA, reason })).toEqual({
    author: { ...ADA, reason: said },
    target: { bulk: 3, filter: { since: SINCE }, total: 4, ...about },
  });
});

it('a rerun of a snapshot leaves what was put away meanwhile', () => {
  const { requested: asked, now } = actingOf({ ...previewed, act: 'rerun' }, ADA, undefined);
  expect([asked, now]).toEqual([{ act: 'rerun', states: ['dead'] }, NOW]);
});

it('the first batch makes its author the one who runs it, with the reason of the preview', () => {
  const by = { ...ADA, now: NOW + 5 };
  const begun = { actor: 'ada', reason: 'the shop was down', started: NOW + 5 };
  expect(planProgress(previewed, by, [1, 2], ['done'])).toMatchObject(begun);
  expect(planProgress(previewed, { ...by, reason: 'my own' }, [1], [])).toMatchObject({ ...begun, reason: 'my own' });
  const running = { ...previewed, actor: 'eve', reason: null, startedAt: new Date(7) };
  expect(planProgress(running, by, [1], [])).toMatchObject({ actor: 'eve', reason: null, started: 7 });
});

it.each<[results: readonly ('done' | 'not needed')[], open: readonly number[], object]>([
  [
    ['done', 'not needed'],
    [5, 6, 7],
    { worked: 4, counts: { done: 2, unknown: 1, 'not needed': 1 }, state: 'running', ended: null },
  ],
  [['not needed'], [5], { worked: 3, counts: { done: 1, unknown: 1, 'not needed': 1 }, state: 'done', ended: NOW }],
  [[], [], { worked: 2, counts: { done: 1, unknown: 1 }, state: 'done', ended: NOW }],
])(
  'a batch with the results %j of the open events %j adds them up, and the last one ends it',
  (results, open, after) => {
    const bulk = { ...previewed, worked: 2, counts: { done: 1, unknown: 1 } };
    expect(planProgress(bulk, ADA, open, results)).toMatchObject(after);
  },
);

it('a snapshot takes what the act applies to now, each once, and says what that is', () => {
  const rows = [
    eventOf(1, 'dead'),
    eventOf(2, 'pending'),
    eventOf(3, 'processed'),
    eventOf(4, 'dead'),
    null,
    eventOf(1, 'dead'),
  ];
  const filling = { ...previewed, createdMs: NOW, breakdown: { ...nothing, states: { dead: 6 } } };
  expect(planSnapshot(filling, rows, new Set([4]), new Set([1, 2]))).toEqual({
    added: [1, 2],
    breakdown: {
      states: { dead: 7, pending: 1 },
      types: { 'order.created': 2 },
      deadReasons: { failed: 1 },
      endpoints: { default: 2 },
      again: 1,
    },
  });
});

it('an event is in the snapshot as it was when the preview began', () => {
  const retrying = { ...previewed, act: 'retry-now', createdMs: NOW } as const;
  const rows = [eventOf(1, 'pending', { dueMs: NOW }), eventOf(2, 'pending', { dueMs: NOW + 1 })];
  expect(planSnapshot(retrying, rows, new Set(), new Set()).added).toEqual([2]);
});

it('previews of an hour ago are given up, and bulks of a week ago are cleared', () => {
  const HOUR = 3_600_000;
  const now = 1_000 * HOUR;
  const weekAgo = now - 168 * HOUR;
  expect(oldBulks(now)).toEqual({ fillingSince: now - HOUR, previewedBefore: weekAgo, endedBefore: weekAgo });
});

it('so many are added at once, and no more', () => {
  const seqs = Array.from({ length: 1_000 }, (_, n) => n);
  expect(() => refuseTooMany(seqs)).not.toThrow();
  expect(() => refuseTooMany([...seqs, 1_000])).toThrow(/at most 1000 events at once, not 1001/);
});

const heartbeat = { ms: 5_000, silentMs: 100, stopped: false };
const running = { state: 'running', heartbeat } as const;

it.each([
  ['reported just now', running, null],
  ['was slow for most of a minute', { ...running, heartbeat: { ...heartbeat, silentMs: 59_000 } }, null],
  ['did not report for more than a minute', { ...running, heartbeat: { ...heartbeat, silentMs: 61_000 } }, 'silent'],
  ['reported in the future', { ...running, heartbeat: { ...heartbeat, silentMs: -60_000 } }, 'silent'],
  ['is a few milliseconds ahead', { ...running, heartbeat: { ...heartbeat, silentMs: -20 } }, null],
  ['reported that it stops', { ...running, heartbeat: { ...heartbeat, stopped: true } }, 'reported'],
  ['has not reported yet', { ...running, heartbeat: null }, null],
  ['is done', { ...running, state: 'done', heartbeat: { ...heartbeat, silentMs: 90_000 } }, null],
] as const)('of a bulk whose process %s', (_, bulk, expected) => {
  expect(runOf(bulk)).toBe(expected);
});
