import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ASSUMPTIONS, DEFAULT_ASSUMPTIONS } from '../../src/sandbox/assumptions.ts';

const page = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => /^\| A\d+ /.test(line))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|').trim()));

it('docs/sandbox.md has each assumption in its words, with its values', () => {
  const wanted = Object.entries(ASSUMPTIONS).map(([id, { about, decision, values }]) => {
    const shown = values.map((name) => `\`${name}\` ${DEFAULT_ASSUMPTIONS[name]}`).join(', ');
    return ['', id, about, decision, shown, ''];
  });
  expect(rows).toEqual(wanted);
});
