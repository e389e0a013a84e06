import { expect, it } from 'vitest';
import { bodyDiff, type BodyDiff, differenceInWords } from '../../src/ops/body/body-diff.ts';
import { createMask } from '../../src/ops/body/mask.ts';

const diffOf = (one: string | Uint8Array, other: string | Uint8Array, ...masked: string[]): BodyDiff =>
  bodyDiff(Buffer.from(one), Buffer.from(other), createMask(masked).mask);

it('is told by path: what changed, what came, what went', () => {
  const one = '{"id":"e","data":{"total":42.5,"items":[{"name":"Tea"},{"name":"Cake"}],"note":null,"a.b":1}}';
  const other = '{"id":"e","data":{"total":43,"items":[{"name":"Tea","qty":2}],"tip":"1","a.b":2}}';
  expect(diffOf(one, other)).toEqual({
    kind: 'changes',
    more: false,
    changes: [
      { path: 'data.total', was: '42.5', is: '43' },
      { path: 'data.items[0].qty', was: null, is: '2' },
      { path: 'data.items[1]', was: '{"name":"Cake"}', is: null },
      { path: 'data.note', was: 'null', is: null },
      { path: 'data.a.b', was: '1', is: '2' },
      { path: 'data.tip', was: null, is: '"1"' },
    ],
  });
});

it.each<[string, string, string]>([
  ['white space', '{"a":1}', '{ "a":1}'],
  ['the order of names', '{"a":1,"b":[{"c":1,"d":2}]}', '{"b":[{"d":2,"c":1}],"a":1}'],
  ['how a number is written', '{"a":12.5}', '{"a":12.50}'],
  ['how a character is written', '{"a":"é"}', String.raw`{"a":"\u00e9"}`],
])('that differ in %s alone is: same meaning, other bytes', (_, one, other) => {
  const diff = diffOf(one, other);
  const at = [...Buffer.from(one)].findIndex((byte, n) => byte !== Buffer.from(other)[n]);
  expect(diff).toEqual({ kind: 'same meaning', at });
  expect(differenceInWords(diff)).toContain(
    `The two bodies have the same values. From byte ${at} on, their text differs`,
  );
});

it.each<[one: string, other: string]>([
  ['{"a":1}', '{"a":"1"}'],
  ['{"a":[]}', '{"a":{}}'],
  ['{"a":1,"a":2}', '{"a":2,"a":1}'],
  ['{"a":9007199254740993}', '{"a":9007199254740992}'],
  ['[]', '[null]'],
  ['1', '2'],
])('%s and %s mean something else', (one, other) => {
  expect(diffOf(one, other).kind).toBe('changes');
  expect(diffOf(other, one).kind).toBe('changes');
});

it('of what is masked: that it differs, and never what it says', () => {
  const body = (email: string, phone: unknown) => JSON.stringify({ data: { customer: { email, phone }, total: 1 } });
  const diff = diffOf(body('ada@x', 1), body('eve@y', 1), 'data.customer.email');
  expect(diff).toMatchObject({ changes: [{ path: 'data.customer.email', was: '"•••"', is: '"•••"' }] });
  const whole = diffOf(body('ada@x', { home: 'secret-1' }), body('ada@x', 'secret-2'), 'data.customer');
  expect(whole).toMatchObject({ changes: [{ path: 'data.customer', was: '"•••"', is: '"•••"' }] });
  const gone = diffOf(body('ada@x', 1), '{"data":{"total":1}}', 'data.customer.email');
  expect(JSON.stringify([diff, whole, gone])).not.toMatch(/ada@|eve@|secret/);
  expect(gone).toMatchObject({ changes: [{ path: 'data.customer', is: null }] });
});

it('of bodies that are no JSON is where they begin to differ', () => {
  expect(diffOf(Buffer.from([0xff, 1]), Buffer.from([0xff, 2]))).toEqual({ kind: 'no JSON', at: 1 });
  expect(diffOf('{"a":1}', '{"a":1}x')).toEqual({ kind: 'no JSON', at: 7 });
});

it('of very large bodies is bounded, and does not say more than was read', () => {
  const list = (last: number) => JSON.stringify([...Array.from({ length: 50_000 }, (_, n) => n), last]);
  expect(diffOf(list(1), list(2)).kind).toBe('too large');
  const other = JSON.stringify(Array.from({ length: 50_000 }, (_, n) => -n - 1));
  const diff = diffOf(list(1), other);
  expect(diff).toMatchObject({ kind: 'changes', more: true });
  expect(diff.kind === 'changes' && diff.changes.length).toBe(100);
  const deep = (end: string) => `${'['.repeat(5_000)}${end}${']'.repeat(5_000)}`;
  expect(diffOf(deep('1'), deep('2')).kind).toBe('too large');
});
