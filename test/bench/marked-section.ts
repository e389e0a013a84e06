import { readFile, writeFile } from 'node:fs/promises';

/** Puts text between the two marker comments of a page; everything a person wrote around them stays. */
export async function writeMarkedSection(page: URL, name: string, text: string): Promise<void> {
  const [START, END] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
  const before = await readFile(page, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return `# Benchmarks\n\n${START}\n${END}\n`;
  });
  const start = before.indexOf(START);
  const end = before.indexOf(END);
  if (start === -1 || end < start) throw new Error(`${page.pathname} needs the lines ${START} and ${END}.`);
  await writeFile(page, `${before.slice(0, start + START.length)}\n\n${text}\n\n${before.slice(end)}`);
}
