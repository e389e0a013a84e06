import { describe, expect, it } from 'vitest';
import { announce, WHOLE_SWEEP } from '../../../src/inbox/rules/announce.ts';
import { atOnce } from '../../../src/inbox/rules/steps.ts';
import type { Scope } from '../../../src/inbox/work.ts';
import { IGNORE_AFTER_MS, TAKER_MS } from '../../../src/inbox/rules/takers.ts';
import type { Queue } from '../../../src/inbox/rules/store.ts';
import { NOTHING_NEXT } from './plan-events.ts';
import { scripted, sliceOf } from './scripted-engine.ts';

const NOW = 2 * IGNORE_AFTER_MS;
const BEFORE = NOW - TAKER_MS;
const SCOPE: Scope = { endpoints: ['default'], types: ['order.ready'] };

/** Waiting events of one endpoint by type; a type that was seen is handled by somebody. */
function engineOf(
  waiting: { readonly [type: string]: number },
  seen: { readonly [type: string]: number } = {},
  replies: Parameters<typeof scripted>[0] = {},
) {
  const left = new Map(
    Object.entries(waiting).map(([type, count]) => [type, Array.from({ length: count }, (_, n) => n)]),
  );
  const types = Object.keys(waiting).toSorted();
  return scripted({
    readyEndpoints: (endpoints: readonly string[]) => endpoints,
    parkedAfter: () => [],
    takenTypes: () => ['order.ready'],
    lastSeen: (_: string, type: string) => seen[type] ?? null,
    nextReadyType: (_: string, from: string) =>
      types.find((type) => type >= from && (left.get(type)?.length ?? 0) > 0) ?? null,
    waitingOfType: ({ type }: { type: string }, _: number, limit: number) =>
      (left.get(type) ?? []).splice(0, limit).map((seq) => ({ seq, endpoint: 'default', entity: null, bytes: 10 })),
    ...replies,
  });
}

const run = ({ engine }: ReturnType<typeof engineOf>, ignoreBefore: number | null = BEFORE, sweep = WHOLE_SWEEP) =>
  atOnce(announce(engine, SCOPE, NOW, ignoreBefore, sweep));

describe('what nobody handles', () => {
  it.each<[string, { readonly [type: string]: number }, number]>([
    ['is put away when nobody ever did', {}, 1],
    ['when nobody did for seven days', { 'order.created': NOW - IGNORE_AFTER_MS }, 1],
    ['but not when somebody has run since', { 'order.created': NOW - IGNORE_AFTER_MS + 1 }, 0],
    ['nor when somebody handles every type', { '*': NOW - 1 }, 0],
  ])('%s', (_, seen, count) => {
    const { ignored } = run(engineOf({ 'order.created': 1 }, seen));
    expect(ignored).toEqual(count === 0 ? [] : [{ endpoint: 'default', type: 'order.created', count }]);
  });

  it('stays where whoever announces has not looked for long enough', () => {
    const waiting = engineOf({ 'order.created': 1 });
    expect(run(waiting, null)).toMatchObject({ ignored: [], more: false });
    expect(waiting.of('ignore', 'nextReadyType')).toEqual([]);
    // Seen seven days ago, but after it was last looked.
    const since = NOW - IGNORE_AFTER_MS - 100;
    expect(run(engineOf({ 'order.created': 1 }, { 'order.created': since + 50 }), since)).toMatchObject({
      ignored: [],
    });
  });

  it('is put away in steps, each going on where the one before has ended', () => {
    const waiting = engineOf({ a: 150, b: 100, c: 1 });
    const first = run(waiting);
    expect([first.ignored, first.more]).toEqual([
      [
        { endpoint: 'default', type: 'a', count: 150 },
        { endpoint: 'default', type: 'b', count: 50 },
      ],
      true,
    ]);
    const second = run(waiting, BEFORE, first.sweep);
    expect([second.ignored.map(({ type, count }) => [type, count]), second.more]).toEqual([
      [
        ['b', 50],
        ['c', 1],
      ],
      false,
    ]);
    expect(second.sweep).toBe(WHOLE_SWEEP);
  });

  it('goes as far as the slice, and at least one does', () => {
    const { ignored, more } = run(engineOf({ a: 5 }, {}, { timeSlice: sliceOf(1) }));
    expect([ignored, more]).toEqual([[{ endpoint: 'default', type: 'a', count: 1 }], true]);
  });
});

describe('what is parked', () => {
  const parked = (seq: number, type: string, entity = 'order') => ({ seq, endpoint: 'default', entity, type });

  it('is unparked when nobody handles its type any more, and so is the front of each entity', () => {
    const events = [parked(2, 'order.created'), parked(3, 'order.ready'), parked(4, 'order.ready', 'other')];
    const { engine, of } = engineOf(
      {},
      {},
      {
        parkedAfter: () => events,
        nextInQueues: (queues: readonly Queue[]) =>
          queues.map(({ entity }) => ({ ...NOTHING_NEXT, front: { seq: entity === 'order' ? 1 : 4, bytes: 1 } })),
      },
    );
    atOnce(announce(engine, SCOPE, NOW, null, WHOLE_SWEEP));
    expect(of('unpark').flatMap(([, seqs]) => seqs)).toEqual([2, 1, 4]);
    expect(of('takenTypes')[0]).toEqual(['takenTypes', 'default', NOW - TAKER_MS]);
  });

  it('is gone through in steps', () => {
    const all = Array.from({ length: 251 }, (_, n) => parked(n + 1, 'order.ready'));
    const engine = engineOf(
      {},
      {},
      {
        parkedAfter: (seq: number, limit: number) => all.filter((event) => event.seq > seq).slice(0, limit),
      },
    );
    const first = run(engine, null);
    expect(first).toMatchObject({ more: true, sweep: { parked: 250 } });
    expect(run(engine, null, first.sweep)).toMatchObject({ more: false });
  });
});

it('whoever announces is noted, and the time of it', () => {
  const engine = engineOf({});
  run(engine);
  expect(engine.of('noteTaker', 'noteTime')).toEqual([
    ['noteTime', NOW],
    ['noteTaker', SCOPE, NOW],
  ]);
});
