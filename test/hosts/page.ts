import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));
const FENCE = /^```(?<language>\w+)\n(?:\/\/|#) (?<name>.+)\n(?<code>[\s\S]*?)^```$/gm;
const ALL = /^```\w+$/gm;

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
/** test/guides.test.ts leaves the rest of docs/typescript.md to these tests. */
const BUNDLING = '## Bundle with esbuild';
const typescript = page('typescript');
// Last, because the last of two blocks with one title counts.
const markdown = [
  page('adapters'),
  page('signature-does-not-match'),
  typescript.slice(typescript.indexOf(BUNDLING)),
].join('\n');
const named = [...markdown.matchAll(FENCE)].map(({ groups: { name = '', code = '' } = {} }) => [name, code] as const);
/** The others show lines of a file; test/docs.test.ts checks them. */
const blocks = new Map(named.filter(([name]) => !name.startsWith('examples/')));
const files = new Map(
  globSync('**/*.{mjs,js,ts,jsonc}', { cwd: EXAMPLES }).map((name) => [
    name.replaceAll('\\', '/'),
    readFileSync(`${EXAMPLES}${name}`, 'utf8'),
  ]),
);
const used = new Set<string>();

export const blockCount = (markdown.match(ALL) ?? []).length;
/** A title, or the file whose lines they show. */
export const blockNames: readonly string[] = named.map(([name]) => name);

export function example(name: string): string {
  const code = files.get(name) ?? blocks.get(name);
  if (code === undefined) throw new Error(`there is no examples/${name}, and no block that begins with this comment`);
  used.add(name);
  return code;
}

/** Code within a sentence, by its beginning. */
export function inlineCode(start: string): string {
  const code = [...markdown.matchAll(/`([^`\n]+)`/g)]
    .map(([, text = '']) => text)
    .find((text) => text.startsWith(start));
  if (code === undefined) throw new Error(`the pages have no code in a sentence that begins with ${start}`);
  return code;
}

/** The rows of a table of docs/answers.md. */
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

/** test/cli runs the demo, test/inbox/postgres the pool, and test/crash the shop with Drizzle. */
export function unused(): string[] {
  return [...files.keys(), ...blocks.keys()].filter(
    (name) => !used.has(name) && !/^(?:demo|pglite|shop-drizzle)\//.test(name),
  );
}

export function changed(code: string, ...changes: readonly (readonly [from: string, to: string])[]): string {
  let result = code;
  for (const [from, to] of changes) {
    if (!result.includes(from)) throw new Error(`the example has no ${from}`);
    result = result.replace(from, () => to);
  }
  return result;
}
