import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const filesOf = (...globs: readonly string[]): readonly string[] => globSync([...globs], { cwd: root }).toSorted();

const PAGES = filesOf(
  'README.md',
  'AGENTS.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'fixtures/README.md',
  'docs/**/*.md',
);
const GENERATED = ['docs/cli.md', ...filesOf('docs/api/*.md')];
const SOURCE = filesOf('{src,adapters}/**/*.{ts,tsx}', 'src/page/assets/*.js');
/** What Prometheus, Grafana and the command's own scenarios and fixtures show. */
const DATA = filesOf(
  'docs/monitoring/*.{yml,json}',
  'fixtures/scenarios/*.json',
  'fixtures/{edge/expectations,signatures}.json',
);

/** A page without its blocks of code and the targets of its links. */
function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '').replaceAll(/\]\([^)\s]*\)/g, ']');
}

/** Prose alone: no code and nothing in quotes. */
function prose(markdown: string): string {
  return withoutBlocks(markdown)
    .replaceAll(/`[^`\n]*`/g, 'code')
    .replaceAll(/"[^"\n]*"/g, 'quote');
}

/** The sentences of a text: of paragraphs, list items and cells of tables. */
export function sentencesIn(markdown: string): readonly string[] {
  return withoutBlocks(markdown)
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll('|', '\0').replaceAll(' ', '\u{a0}'))
    .split(/(?<=[.?!])[^\S\u{a0}]+|\n\s*\n|\n(?=[-|#>]|\s+- )|\||·/u)
    .map((sentence) =>
      sentence
        .replaceAll(/\s+/g, ' ')
        .replaceAll('\0', '|')
        .replace(/^[-#> ]+/, '')
        .trim(),
    )
    .filter((sentence) => sentence.split(' ').length > 3);
}

/** The texts of a file of data: alert rules, a dashboard of Grafana, scenarios, fixtures. */
function textsOfData(file: string): readonly string[] {
  const texts = file.endsWith('.yml')
    ? read(file).matchAll(/^\s*(?:(?:summary|description): |# )'?(.+?)'?$/gm)
    : read(file).matchAll(/"(?:title|description|text|label|legendFormat|about|why)": "((?:[^"\\]|\\.)+)"/g);
  return [...texts].map(([, text = '']) => text.replaceAll(/\{\{[^}]*\}\}/g, '…').replaceAll(/ +/g, ' '));
}

const STRING = /'((?:[^'\\\n]|\\.)+)'|"((?:[^"\\\n]|\\.)+)"|`((?:[^`\\]|\\.)+)`|>\s*((?:[^<>{}]|\{[^{}<>]*\})+?)\s*</g;

/** The texts in a file's strings and in the markup of its pages; strings that are added up count as one. */
function stringsIn(file: string): readonly string[] {
  const code = read(file).replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  const strings: string[] = [];
  let end = 0;
  for (const { 0: whole, 1: single, 2: double, 3: template, 4: markup, index } of code.matchAll(STRING)) {
    const text = single ?? double ?? template ?? markup ?? '';
    if (/^\s*\+\s*$/.test(code.slice(end, index))) strings.push((strings.pop() ?? '') + text);
    else strings.push(text);
    end = index + whole.length;
  }
  return strings
    .filter(
      (text) =>
        /^[A-Za-z“…][^:;=]*\s\w+\s\w/s.test(text) &&
        !/\b(?:SELECT|UPDATE|DELETE|INSERT|WHERE|SET|FROM|ORDER BY|IS NULL|IS NOT NULL|IN .* MODE|CREATE|BEGIN ISOLATION|ROLLBACK TO|CASE WHEN)\b|=>|readonly |extends |__|^\s*(?:import|hookbox) /.test(
          text,
        ),
    )
    .map((text) => text.replaceAll(/\$?\{[^}]*\}/g, '…').replaceAll(/\s+/g, ' '));
}

/** Comments of the source, without the marks of examples. */
function commentsIn(file: string): string {
  return (read(file).match(/\/\*\*[\s\S]*?\*\/|\/\/ .*$/gm) ?? []).join('\n').replaceAll(/^\s*\*? ?/gm, '');
}

/** What people read, by where they read it. */
const OF_PAGES = /^src\/(?:page|ops\/words|sandbox\/page)\//;
const OF_HELP = /^src\/cli\/.*(?:-commands?|-options?|command)\.ts$/;

export const texts = {
  docs: PAGES.filter((page) => !GENERATED.includes(page)),
  help: SOURCE.filter((file) => OF_HELP.test(file)),
  pages: SOURCE.filter((file) => OF_PAGES.test(file)),
  messages: [...SOURCE.filter((file) => !OF_PAGES.test(file) && !OF_HELP.test(file)), ...DATA],
  api: GENERATED.filter((page) => page !== 'docs/cli.md'),
} as const;

export type Kind = keyof typeof texts;

const shownIn = (file: string): readonly string[] => (DATA.includes(file) ? textsOfData(file) : stringsIn(file));

/** Each sentence of a kind, with its file. */
export function sentencesOf(kind: Kind): readonly { readonly file: string; readonly sentence: string }[] {
  return texts[kind].flatMap((file) => {
    const found = kind === 'docs' || kind === 'api' ? sentencesIn(read(file)) : shownIn(file);
    return found.map((sentence) => ({ file, sentence }));
  });
}

/** What patterns are counted in. */
export const counted = {
  docs: () => texts.docs.filter((page) => page !== 'CONTRIBUTING.md').map((page) => prose(read(page))),
  strings: () => [...SOURCE, ...DATA].flatMap(shownIn),
  comments: () => SOURCE.map(commentsIn),
} as const;
