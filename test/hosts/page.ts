import { readFileSync } from 'node:fs';

const FENCE = /^```(?<language>\w+)\n(?:\/\/|#) (?<name>.+)\n(?<code>[\s\S]*?)^```$/gm;
const ALL = /^```\w+$/gm;

const markdown = ['adapters', 'signature-does-not-match']
  .map((page) => readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8'))
  .join('\n');
const blocks = new Map(
  [...markdown.matchAll(FENCE)].map(({ groups: { name = '', code = '' } = {} }) => [name, code] as const),
);
const used = new Set<string>();

/** How many blocks docs/adapters.md and docs/signature-does-not-match.md have, also those that begin with no name. */
export const blockCount = (markdown.match(ALL) ?? []).length;
export const names: readonly string[] = [...blocks.keys()];

/** A block of the two pages by its first line, which is a comment with its file name, or a title. */
export function example(name: string): string {
  const code = blocks.get(name);
  if (code === undefined) throw new Error(`the pages have no block that begins with the comment ${name}`);
  used.add(name);
  return code;
}

/** A piece of code in a sentence of the page, by how it begins. */
export function inlineCode(start: string): string {
  const code = [...markdown.matchAll(/`([^`\n]+)`/g)]
    .map(([, text = '']) => text)
    .find((text) => text.startsWith(start));
  if (code === undefined) throw new Error(`the pages have no code in a sentence that begins with ${start}`);
  return code;
}

/** The rows of the table under a heading of docs/answers.md, without its head. */
export function rowsUnder(heading: string): readonly (readonly string[])[] {
  const answers = readFileSync(new URL('../../docs/answers.md', import.meta.url), 'utf8');
  const section = answers.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Blocks that no test has asked for. */
export function unused(): string[] {
  return names.filter((name) => !used.has(name));
}

/** The same code with something else in it, for what the page warns of. */
export function changed(code: string, ...changes: readonly (readonly [from: string, to: string])[]): string {
  let result = code;
  for (const [from, to] of changes) {
    if (!result.includes(from)) throw new Error(`the example has no ${from}`);
    result = result.replace(from, () => to);
  }
  return result;
}
