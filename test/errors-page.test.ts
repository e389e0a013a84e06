import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8');

const page = read('docs/errors.md');
const withoutCode = page.replaceAll(/`[^`\n]+`/g, '');

/** The source, with the parts of each text put together. */
const source = globSync(['src/**/*.{ts,tsx}', 'adapters/*.ts'], { cwd: root })
  .map(read)
  .join('\n')
  .replaceAll(/['"`]\s*\+\s*['"`]/g, '');

/** SQLite's own texts, which errors of hookbox pass on. */
const OF_SQLITE = new Set(['database or disk is full']);

/** Codes in a part of a file, such as the union of a class. */
const codesIn = (text: string): string[] => text.match(/(?<=')[A-Z]+(?:_[A-Z]+)*(?=')/g) ?? [];
const answers = /export type AnswerCode =[^;]+;/.exec(read('src/receive/outcome.ts'))?.[0] ?? '';
const codes = new Set([...codesIn(read('src/errors.ts')), ...codesIn(answers)]);

it('docs/errors.md quotes texts that stand in the source', () => {
  const quoted = Array.from(withoutCode.matchAll(/"((?:[^"\n]|"…")+)"/g), ([, text = '']) => text);
  expect(quoted.length).toBeGreaterThan(50);
  const missing = quoted
    .filter((text) => !OF_SQLITE.has(text))
    .filter((text) =>
      text.split('…').some((part) => !source.includes(part.replaceAll("'", "\\'")) && !source.includes(part)),
    );
  expect(missing).toEqual([]);
});

it('docs/errors.md lists each code of an error and of an answer, and no other', () => {
  const listed: readonly string[] = page.match(/(?<=`)[A-Z]+(?:_[A-Z]+)*(?=`)/g) ?? [];
  expect(codes.size).toBeGreaterThan(40);
  expect([...codes].filter((code) => !listed.includes(code))).toEqual([]);
  const others = new Set(['COMMIT', 'GRANT', 'ROLLBACK', 'SIGNING_SECRET', 'SQLITE_BUSY']);
  expect(listed.filter((code) => !codes.has(code) && !others.has(code))).toEqual([]);
});
