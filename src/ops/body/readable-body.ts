import { jsonText, JsonTokens } from '../../events/json.ts';
import { printableJson } from '../../printable.ts';

/**
 * A body for people to read, in lines. What does not print is escaped as JSON does it, where it is JSON; the lines of other texts are
 * indented, so that none looks like one of ours.
 */
export function readableBody(body: Uint8Array): readonly string[] {
  const json = jsonText(body);
  if (json !== null) return printableJson(prettyJson(json)).split('\n');
  const lines = Buffer.from(body).toString().split('\n');
  return lines.map((line) => `  ${line}`);
}

/** What is nested deeper stays on one line: indenting a megabyte of brackets would fill terabytes. */
const DEEPEST = 40;

/**
 * JSON with each value on a line of its own. Everything but the white space stays as it is written: numbers, escapes, the
 * order of names, and names that come twice.
 *
 * @param text - valid JSON
 */
export function prettyJson(text: string): string {
  let result = '';
  let depth = 0;
  let before = '';
  for (const tokens = new JsonTokens(text); tokens.next();) {
    const { kind } = tokens;
    const wasBegin = before === '{' || before === '[' || before === '';
    if (kind === '}' || kind === ']') {
      depth -= 1;
      if (!wasBegin) result += lineBreak(depth);
    } else if (before !== 'name') {
      if (!wasBegin) result += ',';
      if (before !== '') result += lineBreak(depth);
    }
    if (kind === '{' || kind === '[') depth += 1;
    result += tokens.written();
    if (kind === 'name') result += ': ';
    before = kind;
  }
  return result;
}

function lineBreak(depth: number): string {
  return depth > DEEPEST ? '' : `\n${'  '.repeat(depth)}`;
}
