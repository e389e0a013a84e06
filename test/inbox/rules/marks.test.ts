import { describe, expect, it } from 'vitest';
import {
  planRelease,
  planSecret,
  SEEN_EVERY_MS,
  spanOfSecret,
  type KeptMark,
  type Mark,
  deployments,
} from '../../../src/inbox/rules/marks.ts';

const MINUTE = 60_000;
const GONE = 2 * SEEN_EVERY_MS + 2 * MINUTE;
const NOW = 100 * MINUTE;
const markOf = (seq: number, parts: Partial<KeptMark> = {}): KeptMark => ({
  seq,
  name: seq === 1 ? 'v1' : 'v2',
  at: NOW - 20 * MINUTE + seq,
  seenAt: NOW - MINUTE,
  endedAt: null,
  ...parts,
});
const seen = (what: 'began' | 'goes on' | 'ends') => ({ name: 'v1', endpoint: 'shop-a', at: NOW, what });
const BEGINS = { kind: 'added', mark: { kind: 'release', name: 'v1', endpoint: 'shop-a' }, at: NOW };
const GOES_ON = { kind: 'seen', seq: 1, seenAt: NOW, endedAt: null };

describe('a release', () => {
  it.each<[string, own: KeptMark | undefined, newest: KeptMark | undefined, what: 'began' | 'goes on', object]>([
    ['that nobody has seen', undefined, undefined, 'began', BEGINS],
    ['that nobody has seen, after another', undefined, markOf(2), 'goes on', BEGINS],
    ['that is the newest', markOf(1), markOf(1), 'began', GOES_ON],
    ['that is the newest, and had gone', markOf(1, { seenAt: 0, endedAt: 1 }), markOf(1), 'began', GOES_ON],
    ['that runs beside a newer one', markOf(1), markOf(2), 'began', GOES_ON],
    ['whose processes ended', markOf(1, { endedAt: NOW - 1 }), markOf(2), 'began', BEGINS],
    ['whose processes were killed', markOf(1, { seenAt: NOW - GONE }), markOf(2), 'began', BEGINS],
    ['that is there for a moment yet', markOf(1, { seenAt: NOW - GONE + 1 }), markOf(2), 'began', GOES_ON],
    ['whose newer one runs', markOf(1), markOf(2), 'goes on', GOES_ON],
    ['whose newer one has gone', markOf(1), markOf(2, { seenAt: NOW - GONE }), 'goes on', BEGINS],
  ])('%s begins or goes on', (_, own, newest, what, change) => {
    expect(planRelease(own, newest, seen(what))).toEqual(change);
  });

  it('ends with its process, if it was ever there', () => {
    expect(planRelease(markOf(1), markOf(2), seen('ends'))).toEqual({ ...GOES_ON, endedAt: NOW });
    expect(planRelease(undefined, markOf(2), seen('ends'))).toBeNull();
  });

  it('was not seen earlier than another process has said', () => {
    const own = markOf(1, { seenAt: NOW + MINUTE });
    expect(planRelease(own, own, seen('goes on'))).toEqual({ ...GOES_ON, seenAt: NOW + MINUTE });
  });
});

it('two processes that see one change of a secret make one mark', () => {
  const changed = { endpoint: 'shop-a', after: NOW - 5 * MINUTE, at: NOW };
  expect(spanOfSecret(changed)).toEqual({ since: NOW - 6 * MINUTE, until: NOW + MINUTE });
  expect(planSecret(true, changed)).toBeNull();
  expect(planSecret(false, changed)).toEqual({
    kind: 'added',
    mark: { kind: 'secret', name: 'shop-a', endpoint: 'shop-a' },
    at: NOW,
  });
});

const MINUTE_MS = 60_000;

const begun = (minute: number, what: string, kind: Mark['kind'] = 'release'): Mark => {
  const [name = '', endpoint = ''] = what.split('@');
  return { kind, name, endpoint, at: new Date(minute * MINUTE_MS) };
};

it.each<[why: string, marks: readonly Mark[], shown: readonly Mark[]]>([
  ['endpoints one after the other', [begun(0, 'v1@a'), begun(2, 'v1@b'), begun(9, 'v1@c')], [begun(0, 'v1@*')]],
  ['a processor of several beside receivers', [begun(0, 'v1@a'), begun(1, 'v1@*')], [begun(0, 'v1@*')]],
  ['hours apart', [begun(0, 'v1@a'), begun(90, 'v1@b')], [begun(0, 'v1@a'), begun(90, 'v1@b')]],
  ['two shops', [begun(0, 'v1@a'), begun(1, 'b7@b'), begun(2, 'v1@c')], [begun(0, 'v1@*'), begun(1, 'b7@b')]],
  [
    'a rollback of two endpoints',
    [begun(0, 'v1@a'), begun(0, 'v1@b'), begun(5, 'v2@a'), begun(5, 'v2@b'), begun(8, 'v1@a'), begun(9, 'v1@b')],
    [begun(0, 'v1@*'), begun(5, 'v2@*'), begun(8, 'v1@*')],
  ],
  [
    'one that comes back',
    [begun(0, 'v1@a'), begun(3, 'v2@a'), begun(5, 'v1@a')],
    [begun(0, 'v1@a'), begun(3, 'v2@a'), begun(5, 'v1@a')],
  ],
  [
    'secrets',
    [begun(0, 'a@a', 'secret'), begun(1, 'a@b', 'secret')],
    [begun(0, 'a@a', 'secret'), begun(1, 'a@b', 'secret')],
  ],
])('one deployment is one mark: %s', (_, marks, shown) => {
  expect(deployments(marks)).toEqual(shown);
});
