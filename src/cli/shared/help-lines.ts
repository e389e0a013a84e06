/** No line of help is longer. */
export const HELP_WIDTH = 80;

const INDENT = '  ';
const CONTINUED = '    ';

/** A text in lines of help. */
export function paragraph(text: string): string {
  return filled(text.split(' '), HELP_WIDTH, '').join('\n');
}

/** Names with what each means, in two columns; a long meaning takes several lines. */
export function nameList(title: string, entries: Readonly<Record<string, string>>): readonly string[] {
  const width = Math.max(...Object.keys(entries).map(({ length }) => length));
  const before = ' '.repeat(INDENT.length + width + 2);
  return [
    `${title}:`,
    ...Object.entries(entries).flatMap(([name, meaning]) => {
      const [first = '', ...others] = filled(meaning.split(' '), HELP_WIDTH - before.length, '');
      return [`${INDENT}${name.padEnd(width)}  ${first}`, ...others.map((line) => before + line)];
    }),
  ];
}

/** A command to copy; a long one goes on after a backslash. */
export function wrappedCommand(line: string): string {
  if (INDENT.length + line.length <= HELP_WIDTH) return INDENT + line;
  const words = line.match(/(?:"[^"]*"|'[^']*'|\$\([^)]*\)|[^\s"'$]|\$)+/g) ?? [];
  // An option and its value stay on one line.
  const parts: string[] = [];
  for (const word of words) {
    const before = parts.at(-1);
    if (before !== undefined && /^--?[\w-]+$/.test(before) && !word.startsWith('-')) {
      parts[parts.length - 1] = `${before} ${word}`;
    } else parts.push(word);
  }
  const [first = '', ...others] = filled(parts, HELP_WIDTH - ' \\'.length - INDENT.length, CONTINUED);
  return [first, ...others].map((text) => INDENT + text).join(' \\\n');
}

/** Words in lines of a width; all lines but the first begin with an indent. */
function filled(words: readonly string[], width: number, indent: string): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(line === undefined ? word : indent + word);
  }
  return lines;
}
