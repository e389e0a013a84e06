import { expect, it } from 'vitest';
import type { StoredBulk } from '../../../src/inbox/operator/acts.ts';
import type { ActedRow } from '../../../src/inbox/rules/act-on-events.ts';
import type { Author } from '../../../src/inbox/rules/audit-line.ts';
import {
  addToBulk,
  advanceBulk,
  cancelBulk,
  clearOldBulks,
  hasEnded,
  refuseTooMany,
  sealBulk,
} from '../../../src/inbox/rules/bulks.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import type { EventState } from '../../../src/inbox/state.ts';
import { scripted, sliceOf } from './scripted-engine.ts';

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
  audit: null,
  heartbeat: null,
};
const running: StoredBulk = { ...previewed, state: 'running', worked: 2, counts: { done: 1, unknown: 1 }, audit: 8 };
const endless = { add: () => false, isOver: () => false };
const acting = { author: ADA, entity: undefined };

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

/** A bulk whose open events have these states. */
function inboxWith(bulk: StoredBulk | null, open: { readonly [seq: number]: EventState } = {}) {
  const left = Object.keys(open).map(Number);
  return scripted({
    bulk: () => bulk,
    addAuditLine: () => 9,
    openEvents: (_: number, limit: number) => left.slice(0, limit),
    noteResult: (_: number, seq: number) => left.splice(left.indexOf(seq), 1),
    acted: (seq: number) => (open[seq] === undefined ? null : eventOf(seq, open[seq])),
  });
}

const WRITES = ['addAuditLine', 'startBulk', 'noteResult', 'saveWorked', 'recountAuditLine', 'endBulk', 'discard'];

it.each<[string, StoredBulk | null, mayGoOn: boolean]>([
  ['that there is not', null, false],
  ['that was previewed', previewed, true],
  ['that is running', running, true],
  ['that is done', { ...running, state: 'done' }, false],
  ['that was cancelled', { ...previewed, state: 'cancelled' }, false],
])('a bulk %s may be advanced and cancelled, or stays as it is', (_, bulk, mayGoOn) => {
  const advanced = inboxWith(bulk, { 1: 'pending' });
  expect(atOnce(advanceBulk(advanced.engine, 3, 10, acting, endless))).toEqual({ bulk, moved: mayGoOn });
  expect(advanced.of(...WRITES).length > 0).toBe(mayGoOn);

  const cancelled = inboxWith(bulk);
  expect(atOnce(cancelBulk(cancelled.engine, 3, ADA))).toBe(bulk);
  expect(cancelled.of(...WRITES).map(([name]) => name)).toEqual(mayGoOn ? ['addAuditLine', 'endBulk'] : []);
  if (bulk !== null) expect(hasEnded(bulk)).toBe(!mayGoOn);
});

it('the first batch begins it: a line of the audit, with the reason of the preview', () => {
  const { engine, of } = inboxWith(previewed, { 1: 'pending', 2: 'pending' });
  atOnce(advanceBulk(engine, 3, 1, acting, endless));
  const about = { bulk: 3, filter: { since: SINCE }, total: 4 };
  expect(of('addAuditLine', 'startBulk')).toEqual([
    ['addAuditLine', 'discard', { ...ADA, reason: 'the shop was down' }, about, {}],
    ['startBulk', 3, 9, { ...ADA, reason: 'the shop was down' }],
  ]);
  expect(of('recountAuditLine')).toEqual([['recountAuditLine', 9, { done: 1 }]]);
});

it.each<[Partial<StoredBulk>, reason: string | null, said: string | null, about: object]>([
  [{}, 'my own', 'my own', {}],
  [{ reason: null }, null, null, {}],
  [{ force: true }, null, 'the shop was down', { force: true }],
])('of a preview with %j, run for %j, the audit says %j', (changes, reason, said, about) => {
  const { engine, of } = inboxWith({ ...previewed, ...changes });
  atOnce(advanceBulk(engine, 3, 10, { author: { ...ADA, reason }, entity: undefined }, endless));
  const whole = { bulk: 3, filter: { since: SINCE }, total: 4, ...about };
  expect(of('addAuditLine')).toEqual([['addAuditLine', 'discard', { ...ADA, reason: said }, whole, {}]]);
});

it('a batch notes what became of each, adds it up, and is not the last one while events are open', () => {
  const { engine, of } = inboxWith(running, { 5: 'pending', 6: 'processed', 7: 'dead' });
  expect(atOnce(advanceBulk(engine, 3, 2, acting, endless))).toMatchObject({ moved: true });
  expect(of(...WRITES)).toEqual([
    ['discard', 5, null, NOW],
    ['noteResult', 3, 5, 'done'],
    ['noteResult', 3, 6, 'not needed'],
    ['saveWorked', 3, 4, { done: 2, unknown: 1, 'not needed': 1 }],
    ['recountAuditLine', 8, { done: 2, unknown: 1, 'not needed': 1 }],
  ]);
});

it('the last batch ends it', () => {
  const { engine, of } = inboxWith(running, { 5: 'processed' });
  expect(atOnce(advanceBulk(engine, 3, 10, acting, endless))).toMatchObject({ moved: false });
  expect(of('endBulk')).toEqual([['endBulk', 3, 'done', NOW]]);
  // Also where none was left.
  const empty = inboxWith(running);
  atOnce(advanceBulk(empty.engine, 3, 10, acting, endless));
  expect(empty.of('endBulk')).toEqual([['endBulk', 3, 'done', NOW]]);
});

it('a batch ends with its slice, and what it has not come to stays open', () => {
  const { engine, of } = inboxWith(running, { 5: 'pending', 6: 'pending', 7: 'pending' });
  atOnce(advanceBulk(engine, 3, 10, acting, sliceOf(2)()));
  expect(of('noteResult').map(([, , seq]) => seq)).toEqual([5, 6]);
  expect(of('endBulk')).toEqual([]);
});

it('a rerun of a snapshot leaves what was put away meanwhile', () => {
  const rerun = { ...running, act: 'rerun' } as const;
  const { engine, of } = inboxWith(rerun, { 5: 'ignored' });
  atOnce(advanceBulk(engine, 3, 10, acting, endless));
  expect(of('noteResult')).toEqual([['noteResult', 3, 5, 'changed']]);
});

it('cancelling says in the audit how far it had come', () => {
  const { engine, of } = inboxWith(running);
  atOnce(cancelBulk(engine, 3, ADA));
  expect(of('addAuditLine', 'endBulk')).toEqual([
    ['addAuditLine', 'cancel', ADA, { bulk: 3 }, { worked: 2, left: 2 }],
    ['endBulk', 3, 'cancelled', NOW],
  ]);
});

it('only a snapshot that is being taken is filled and sealed', () => {
  const { engine, of } = scripted({ filling: () => null, bulk: () => previewed });
  expect(atOnce(addToBulk(engine, 3, [1]))).toBe(false);
  expect(atOnce(sealBulk(engine, 3))).toBeNull();
  expect(of('addToSnapshot', 'saveSnapshot', 'seal')).toEqual([]);

  const filling = scripted({ filling: () => previewed, bulk: () => previewed });
  expect(atOnce(sealBulk(filling.engine, 3))).toBe(previewed);
  expect(filling.of('seal')).toEqual([['seal', 3]]);
});

it('a snapshot takes what the act applies to now, each once, and says what that is', () => {
  const events = [eventOf(1, 'dead'), eventOf(2, 'pending'), eventOf(3, 'processed'), eventOf(4, 'dead')];
  const { engine, of } = scripted({
    filling: () => ({ ...previewed, breakdown: { ...nothing, states: { dead: 6 } } }),
    acted: (seq: number) => events[seq - 1] ?? null,
    addToSnapshot: (_: number, seq: number) => seq !== 4,
  });
  expect(atOnce(addToBulk(engine, 3, [1, 2, 3, 4, 5]))).toBe(true);
  expect(of('addToSnapshot').map(([, , seq]) => seq)).toEqual([1, 2, 4]);
  const breakdown = {
    states: { dead: 7, pending: 1 },
    types: { 'order.created': 2 },
    deadReasons: { failed: 1 },
    endpoints: { default: 2 },
  };
  expect(of('saveSnapshot')).toEqual([['saveSnapshot', 3, 2, breakdown]]);
});

it.each<[isFirst: boolean, forgotten: number, more: boolean]>([
  [true, 2_000, true],
  [true, 1_999, false],
  [false, 2_000, true],
  [false, 0, false],
])('what is an hour or a week old is cleared away (first: %s, %i events: more %s)', (isFirst, forgotten, more) => {
  const HOUR = 3_600_000;
  const now = 1_000 * HOUR;
  const { engine, asked } = scripted({ forgetSnapshots: () => forgotten });
  expect(atOnce(clearOldBulks(engine, now, isFirst))).toBe(more);
  const weekAgo = now - 168 * HOUR;
  expect(asked).toEqual([
    ...(isFirst
      ? [
          ['giveUpFilling', now - HOUR],
          ['cancelPreviewed', weekAgo, now],
        ]
      : []),
    ['forgetSnapshots', weekAgo, 2_000],
  ]);
});

it('so many are added at once, and no more', () => {
  const seqs = Array.from({ length: 1_000 }, (_, n) => n);
  expect(() => refuseTooMany(seqs)).not.toThrow();
  expect(() => refuseTooMany([...seqs, 1_000])).toThrow(/at most 1000 events at once, not 1001/);
});
