import { expect, test } from 'vitest';
import { jsonTree, type JsonNode } from '../../../src/ops/body/readable-body.ts';

function written({ name, again, kind, value, children, size, cut }: JsonNode): string {
  const named = `${name === null ? '' : `${name}: `}${again ? 'again ' : ''}`;
  if (kind === 'object' || kind === 'list') {
    const left = `${size > children.length ? ` +${size - children.length}` : ''}${cut ? ' and so on' : ''}`;
    const inner = children.map((child) => written(child)).join(', ') + left;
    return `${named}${kind === 'object' ? `{${inner}}` : `[${inner}]`}`;
  }
  return `${named}${kind === 'text' ? JSON.stringify(value) : value}`;
}

function tree(text: string, limits?: Parameters<typeof jsonTree>[1]): string {
  const { root, leftOut } = jsonTree(text, limits);
  return `${written(root)}${leftOut ? ' (some left out)' : ''}`;
}

test.for([
  ['{"a":1,"b":[true,null,"x"]}', '{a: 1, b: [true, null, "x"]}'],
  [' {\n "a" :\t{ } , "b" : [ ] }\r\n', '{a: {}, b: []}'],
  ['[12.50,-0,-0.0,1e400,1E-7,9007199254740993]', '[12.50, -0, -0.0, 1e400, 1E-7, 9007199254740993]'],
  ['{"a":1,"b":{"a":2},"a":3,"\\u0061":4}', '{a: 1, b: {a: 2}, a: again 3, a: again 4}'],
  ['{"__proto__":1,"constructor":2,"":3}', '{__proto__: 1, constructor: 2, : 3}'],
  ['{"quoted \\" : {":"a \\\\","b":"\\ud83d\\ude00"}', '{quoted " : {: "a \\\\", b: "😀"}'],
  ['"alone"', '"alone"'],
  ['17', '17'],
] as const)('%s', ([text, expected]) => {
  expect(tree(text)).toBe(expected);
});

test('says where it leaves something out', () => {
  expect(tree('[1,2,3,4,5]', { values: 6 })).toBe('[1, 2, 3, 4, 5]');
  expect(tree('{"a":{"b":{"c":{"d":1},"e":2}},"f":3}', { depth: 2 })).toBe('{a: { +1}, f: 3} (some left out)');
});

test('looks at nothing behind its limits, so it does not say how much there is', () => {
  expect(tree('[1,2,3,4,5]', { values: 3 })).toBe('[1, 2 +1 and so on] (some left out)');
  expect(tree('{"a":[[1,{"x":2}]],"b":3}', { values: 2 })).toBe('{a: [ +1 and so on] and so on} (some left out)');
  expect(tree('[[[1,2,3,4]],5]', { values: 2, depth: 1 })).toBe('[ +1 and so on] (some left out)');
});

test.for([
  ['brackets', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
  ['objects', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`],
  ['numbers', `[${'1,'.repeat(500_000)}1]`],
  ['names', `{${Array.from({ length: 60_000 }, (_, n) => `"key ${n}":1`).join(',')}}`],
  ['backslashes', `"${'\\\\'.repeat(500_000)}"`],
] as const)('of a megabyte of %s is no larger than a page', ([, text]) => {
  expect(valuesIn(jsonTree(text).root)).toBeLessThanOrEqual(2_000);
});

function valuesIn({ children }: JsonNode): number {
  return children.reduce((sum, child) => sum + valuesIn(child), 1);
}
