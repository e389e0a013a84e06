import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { apiPages } from './api-pages.ts';
import { entries, root } from './public-names.ts';

const pages = await apiPages();

it.each([...pages])('docs/api/%s is what the TSDoc says (-u writes it)', async (name, text) => {
  await expect(text).toMatchFileSnapshot(join(root, 'docs/api', name));
});

it('docs/api has no other page', () => {
  expect(globSync('*', { cwd: join(root, 'docs/api') }).toSorted()).toEqual([...pages.keys()].toSorted());
});

it.each([...entries()])('%s: each public name has a heading on one page, and a comment', (_, module) => {
  const text = [...pages.values()].join('\n');
  for (const [name, { parts }] of module.exports()) {
    const headings = text.match(new RegExp(`^## ${name}(?: \\(type\\))?$`, 'gm')) ?? [];
    expect(headings.length, name).toBeGreaterThanOrEqual(1);
    expect(parts[0]?.doc, name).not.toBe('');
  }
});

it('the pages are small enough to be packed', () => {
  const bytes = [...pages.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  expect(bytes).toBeLessThan(300_000);
});
