import { expect, it } from 'vitest';
import type { Mark } from '../../../src/inbox/rules/marks.ts';
import { deployments } from '../../../src/inbox/rules/marks.ts';

const MINUTE_MS = 60_000;

/** `a1@shop-a` minutes after noon. */
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
