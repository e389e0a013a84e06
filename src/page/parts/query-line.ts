import { nearest } from '../../nearest.ts';
import { FIELDS } from './filter-fields.ts';

/** A line of the search box: `state:dead type:order.created ord_42`. */
export interface QueryLine {
  /** the fields of a filter, as in a URL */
  readonly fields: readonly Field[];
  /** the words without a name */
  readonly text: string | null;
  readonly problems: readonly string[];
}

type Field = readonly [name: string, value: string];

const NAMED_OTHERWISE: Readonly<Record<string, string>> = { fingerprint: 'group', bodyText: 'body' };

/** The names of the fields in a line; `body` of a URL is `body.<path>`. */
export const LINE_NAMES: ReadonlyMap<string, string> = new Map(
  FIELDS.filter((field) => field !== 'body').map((field) => [
    NAMED_OTHERWISE[field] ?? field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    field,
  ]),
);
const FIELD_NAMES = new Map(Array.from(LINE_NAMES, ([name, field]) => [field, name]));

const QUOTED = /^"((?:[^"\\]|\\.)*)"(?=\s|$)/s;
const NAMED = /^(?:body\.("(?:[^"\\]|\\.)*"|[^\s:"]+)|([a-z][a-z-]*)):/s;
/** Fewer letters resemble too many names. */
const FEWEST_LETTERS = 3;

/** Reads `name:value`, where quotes may surround a value. With an unknown name, as in `order:mer_7:ord_42`, it is text. */
export function readQueryLine(line: string): QueryLine {
  const fields: Field[] = [];
  const problems: string[] = [];
  let words = '';
  let rest = line.trim();
  while (rest !== '') {
    const [begun = '', path, name = ''] = NAMED.exec(rest) ?? [];
    const field = path === undefined ? LINE_NAMES.get(name) : 'body';
    if (field === undefined) {
      const [word = rest] = /^(?:"(?:[^"\\]|\\.)*"(?=\s|$)|\S+)\s*/s.exec(rest) ?? [];
      const meant = name.length < FEWEST_LETTERS || word.trim() === begun ? [] : nearest(name, [...LINE_NAMES.keys()]);
      if (meant.length > 0) {
        problems.push(
          `Unknown filter ${name}. Did you mean ${meant.join(' or ')}? To search for it as text, put it in quotes.`,
        );
      }
      words += word;
      rest = rest.slice(word.length);
      continue;
    }
    const after = rest.slice(begun.length);
    const [quoted, within] = QUOTED.exec(after) ?? [];
    const value = quoted ?? /^\S*/.exec(after)?.[0] ?? '';
    rest = after.slice(value.length).trimStart();
    const shown = begun.slice(0, -1);
    if (value === '') {
      problems.push(
        `${shown} has no value. Write the value right after the colon. To search for it as text, put it in quotes.`,
      );
    } else if (quoted === undefined && value.startsWith('"')) {
      problems.push(`The quote after ${shown}: has no end. Add a quote at the end of the value.`);
    } else {
      const read = within === undefined ? value : unescaped(within);
      fields.push([field, path === undefined ? read : `${pathIn(path)}=${read}`]);
    }
  }
  return { fields, text: textIn(words.trim()), problems };
}

/** Reads as the same fields and text. */
export function printQueryLine({ fields, text }: Omit<QueryLine, 'problems'>): string {
  const printed = fields.map(([field, value]) => {
    if (field !== 'body') return `${FIELD_NAMES.get(field) ?? field}:${valueText(value)}`;
    const equals = value.indexOf('=');
    const [path, wanted] = equals === -1 ? [value, ''] : [value.slice(0, equals), value.slice(equals + 1)];
    return `body.${/^[^\s:"]+$/.test(path) ? path : quote(path)}:${valueText(wanted)}`;
  });
  return [...printed, ...(text === null ? [] : [plainText(text)])].join(' ');
}

function textIn(words: string): string | null {
  if (words === '') return null;
  const [whole, within = ''] = QUOTED.exec(words) ?? [];
  return whole === words ? unescaped(within) : words;
}

function plainText(text: string): string {
  const read = readQueryLine(text);
  return read.text === text && read.fields.length === 0 && read.problems.length === 0 ? text : quote(text);
}

export function valueText(value: string): string {
  return /^[^\s"]\S*$/.test(value) ? value : quote(value);
}

function pathIn(path: string): string {
  return path.startsWith('"') ? unescaped(path.slice(1, -1)) : path;
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/gs, '$1');
}
