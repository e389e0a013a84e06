import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The host's code: merchants read it, and it runs here as it stands. */
const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));
const FENCE = /^```(?<language>\w+)\n(?:\/\/|#) (?<name>.+)\n(?<code>[\s\S]*?)^```$/gm;
const ALL = /^```\w+$/gm;

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
/** From here on, test/guides.test.ts leaves docs/typescript.md to the tests of hosts. */
const BUNDLING = '## Bundle with esbuild';
const typescript = page('typescript');
// Last, as of two blocks with one title the last counts.
const markdown = [
  page('adapters'),
  page('signature-does-not-match'),
  typescript.slice(typescript.indexOf(BUNDLING)),
].join('\n');
const named = [...markdown.matchAll(FENCE)].map(({ groups: { name = '', code = '' } = {} }) => [name, code] as const);
/** Blocks with a title. The others show lines of a file, as test/docs.test.ts sees to it. */
const blocks = new Map(named.filter(([name]) => !name.startsWith('examples/')));
const files = new Map(
  globSync('**/*.{mjs,js,ts,jsonc}', { cwd: EXAMPLES }).map((name) => [
    name.replaceAll('\\', '/'),
    readFileSync(`${EXAMPLES}${name}`, 'utf8'),
  ]),
);
const used = new Set<string>();

/** How many blocks the pages have, also those that begin with no name. */
export const blockCount = (markdown.match(ALL) ?? []).length;
/** Their first lines, which are comments: a title, or the file whose lines they show. */
export const blockNames: readonly string[] = named.map(([name]) => name);

/** A file of examples/, or a block of the pages by its title. */
export function example(name: string): string {
  const code = files.get(name) ?? blocks.get(name);
  if (code === undefined) throw new Error(`there is no examples/${name}, and no block that begins with this comment`);
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

/** Files and blocks that no test has asked for. The demo is run by test/cli. */
export function unused(): string[] {
  return [...files.keys(), ...blocks.keys()].filter((name) => !used.has(name) && !name.startsWith('demo/'));
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
