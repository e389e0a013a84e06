import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { tagged } from './vitest.config.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = [
  'README.md',
  'AGENTS.md',
  'llms.txt',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'fixtures/README.md',
  ...globSync('docs/**/*.md', { cwd: root }),
];
const LINK = /\]\((?!https?:)(?<path>[^)#\s]*)(?:#(?<anchor>[^)\s]+))?\)/g;
/** A file or folder of the repository, in backticks. */
const NAMED = /`(?<path>(?:test|docs|examples|fixtures|adapters)\/[\w./-]+)`/g;

/** A block that shows lines of a file in examples/, and says so in its first line. */
const EXCERPT = /^```\w+\n\/\/ (?<file>examples\/.+)\n(?<lines>[\s\S]*?)^```$/gm;

function text(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

/** Without blank lines, and indented in any way. */
function linesOf(code: string): string[] {
  return code
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** As GitHub makes them of headings. */
function anchors(page: string): ReadonlySet<string> {
  const headings = withoutCode(text(page)).matchAll(/^#+ (?<heading>.+)$/gm);
  return new Set(
    [...headings].map(({ groups: { heading = '' } = {} }) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}

describe.each(pages)('%s', (page) => {
  it('links to what is there', () => {
    const broken = [...withoutCode(text(page)).matchAll(LINK)].flatMap(({ 0: link, groups = {} }) => {
      const target = groups['path'] ? join(dirname(page), groups['path']) : page;
      if (!existsSync(join(root, target))) return [link];
      return groups['anchor'] === undefined || anchors(target).has(groups['anchor']) ? [] : [link];
    });
    expect(broken).toEqual([]);
  });

  it('shows of examples what stands in them, line by line', () => {
    const changed = [...text(page).matchAll(EXCERPT)].flatMap(({ groups: { file = '', lines = '' } = {} }) => {
      let rest = linesOf(text(file));
      return linesOf(lines)
        .filter((line) => {
          const at = rest.indexOf(line);
          rest = rest.slice(at + 1);
          return at < 0;
        })
        .map((line) => `${file}: ${line}`);
    });
    expect(changed).toEqual([]);
  });

  it('names files that are there', () => {
    const named = [...withoutCode(text(page)).matchAll(NAMED)].map(({ groups = {} }) => groups['path'] ?? '');
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

it('README, the index of the docs or an index it names links to each page', () => {
  const indexes = ['README.md', 'docs/README.md', 'docs/api/README.md', 'docs/decisions/README.md'];
  const linked = new Set(
    indexes.flatMap((index) =>
      [...text(index).matchAll(LINK)].map(({ groups = {} }) => join(dirname(index), groups['path'] ?? '')),
    ),
  );
  expect(pages.filter((page) => page !== 'README.md' && !linked.has(page))).toEqual([]);
});

it.each([
  [
    'options by type',
    /`\{ handle, retry, timeoutMs, concurrency, blocks, rate, latest \}`\]\(docs\/handling\.md#options-by-type\)/,
  ],
  ['a later retry', /RetryLaterError\(\{ afterMs \}\)/],
  ['nothing to do', /ctx\.skip\(.*docs\/handling\.md#skip-an-event-ctxskip/],
  ['hooks', /docs\/handling\.md#hooks-for-alerts\) `onFailed`, `onDead`, `onConflict` and `onSilent`/],
  ['traces', /\[OpenTelemetry\]\(docs\/handling\.md#opentelemetry\)/],
  ['own types', /docs\/handling\.md#your-own-types-and-fields/],
  ['alerts and panels', /\[Prometheus and Grafana\]\(docs\/monitoring\/README\.md\)/],
  ['a pause', /\[pause\]\(docs\/operations\.md#pause-a-type\)/],
  ['the search box', /search box/],
])('the README tells whoever reads no further of %s', (_, told) => {
  expect(text('README.md')).toMatch(told);
});

it('docs/adapters.md, docs/signature-does-not-match.md and docs/testing.md lead to each example', () => {
  const leading = ['adapters', 'signature-does-not-match', 'testing'].map((page) => text(`docs/${page}.md`)).join('');
  const files = globSync('examples/!(demo)/**/*.*', { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  expect(files.filter((file) => !leading.includes(file))).toEqual([]);
});

it.each([...pages, ...globSync('examples/**/*.{mjs,ts,js}', { cwd: root, exclude: ['**/node_modules'] })])(
  'each pool of pg in %s has a listener, without which Node ends when Postgres restarts',
  (file) => {
    const pools = text(file).match(/^.*new (?:pg\.)?Pool\(.*\n.*/gm) ?? [];
    expect(pools.filter((lines) => !lines.includes(".on('error', "))).toEqual([]);
  },
);

it('a file is found by its name: none is called as its folder, and none but index stands more than three times', () => {
  const files = globSync('{src,adapters}/**/*.{ts,tsx}', { cwd: root }).map((file) => file.replace(/\.tsx?$/, ''));
  const often = Map.groupBy(files, (file) => basename(file));
  expect([...often].flatMap(([name, { length }]) => (name !== 'index' && length > 3 ? [name] : []))).toEqual([]);
  expect(files.filter((file) => basename(file) === basename(dirname(file)))).toEqual([]);
});

it('npm test opens no browser, which comes with test/parts', () => {
  const opening = globSync('test/browser/*.test.ts', { cwd: root }).filter((file) =>
    text(file).includes('openBrowser('),
  );
  expect(opening).not.toEqual([]);
  expect(opening.filter((file) => !tagged('long', 'longest').includes(file))).toEqual([]);
});

/** As `wc -w` counts. */
const wordsIn = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

describe('the docs stay short', () => {
  it('README.md and docs have at most 26,000 words, without what is generated', () => {
    const written = globSync('docs/**/*.md', { cwd: root }).filter(
      (page) => page !== join('docs', 'cli.md') && !matchesGlob(page, 'docs/api/**'),
    );
    const words = ['README.md', ...written].map((page) => wordsIn(text(page)));
    expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(26_000);
  });

  it('docs/architecture.md has at most 3,500 words', () => {
    expect(wordsIn(text('docs/architecture.md'))).toBeLessThanOrEqual(3_500);
  });

  it('the changelog of 0.1.0 has at most 25 lines', () => {
    const [, section = ''] = /^(## 0\.1\.0\b[\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(text('CHANGELOG.md')) ?? [];
    expect(section).toContain('### Added');
    expect(section.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
  });

  it('each page of docs opens with a sentence or two, before its first list, block or heading', () => {
    const written = globSync('docs/**/*.md', { cwd: root }).filter(
      (page) => !matchesGlob(page, 'docs/api/**') && !matchesGlob(page, 'docs/decisions/[!R]*'),
    );
    const without = written.filter((page) => !/^# .+\n\n[A-Z][^\n]+[.:?](?:\n|$)/.test(text(page)));
    expect(without).toEqual([]);
  });
});
