import { AMOUNTS, parseWithSource } from '../../sender/event-json.ts';

interface Writing {
  readonly text: string;
  readonly how: string;
}

/**
 * Tries the forms in which programs write the same JSON object or list, until one matches. Tries none for other texts,
 * or for one that is nested too deeply.
 */
export function someJsonWriting(text: string, every: boolean, fits: (writing: Writing) => boolean): boolean {
  const value = readJson(text);
  if (value === null || value instanceof Token || isDeep(value)) return false;
  const seen = new Set([text]);
  const own = LAYOUTS.find(([, layout]) => write(value, { layout, number: raw, string: raw }) === text.trim());
  const most = (usual: number): number => (every ? Infinity : usual);
  for (const [ordering, order] of ORDERS.slice(0, most(1))) {
    const ordered = order === null ? value : reorder(value, order);
    for (const [escaping, string] of STRINGS.slice(0, most(3))) {
      for (const [numbers, number] of NUMBERS.slice(0, most(3))) {
        for (const [spacing, layout] of LAYOUTS.slice(0, most(4))) {
          const written = write(ordered, { layout, number, string });
          if (seen.has(written)) continue;
          seen.add(written);
          const differences = [layout === own?.[1] ? '' : spacing, numbers, escaping, ordering];
          if (fits({ text: written, how: differences.filter((one) => one !== '').join(', ') })) return true;
        }
      }
    }
  }
  return false;
}

class Token {
  readonly source: string;
  readonly value: unknown;

  constructor(source: string, value: unknown) {
    this.source = source;
    this.value = value;
  }
}

type Node = Token | readonly Node[] | Readonly<{ [key: string]: Node }>;

function readJson(text: string): Node | null {
  try {
    return parseWithSource(text, (value, source) => new Token(source, value)) as Node;
  } catch {
    return null; // no JSON, or deeper than the stack
  }
}

function isDeep(node: Node, levels = 0): boolean {
  if (node instanceof Token) return false;
  return levels === 64 || Object.values(node).some((inner: Node) => isDeep(inner, levels + 1));
}

interface Layout {
  readonly comma: string;
  readonly colon: string;
  readonly indent: string | null;
  readonly newline: string;
}

type Write = (token: Token, key: string) => string;

interface Style {
  readonly layout: Layout;
  readonly number: Write;
  readonly string: Write;
}

function write(node: Node, style: Style, key = '', depth = 0): string {
  if (node instanceof Token) {
    if (typeof node.value === 'string') return style.string(node, key);
    return typeof node.value === 'number' ? style.number(node, key) : node.source;
  }
  const { comma, colon, indent, newline } = style.layout;
  const isList = Array.isArray(node);
  const items = isList
    ? node.map((item: Node) => write(item, style, key, depth + 1))
    : Object.entries(node).map(([name, item]) => {
        const label = new Token(JSON.stringify(name), name);
        return `${style.string(label, '')}${colon}${write(item, style, name, depth + 1)}`;
      });
  const [open, close] = isList ? '[]' : '{}';
  if (items.length === 0 || indent === null) return `${open}${items.join(comma)}${close}`;
  const inner = `${newline}${indent.repeat(depth + 1)}`;
  return `${open}${inner}${items.join(`,${inner}`)}${newline}${indent.repeat(depth)}${close}`;
}

function reorder(node: Node, order: (a: string, b: string) => number): Node {
  if (node instanceof Token) return node;
  if (Array.isArray(node)) return node.map((item: Node) => reorder(item, order));
  const entries = Object.entries(node).toSorted(([a], [b]) => order(a, b));
  return Object.fromEntries(entries.map(([key, item]) => [key, reorder(item, order)]));
}

type Ways<Way> = readonly (readonly [how: string, way: Way])[];

const oneLine = (comma: string, colon: string): Layout => ({ comma, colon, indent: null, newline: '' });
const lines = (indent: string, newline = '\n'): Layout => ({ comma: ',', colon: ': ', indent, newline });

const LAYOUTS: Ways<Layout> = [
  ['without spaces, as JSON.stringify writes it', oneLine(',', ':')],
  ['indented by 2 spaces', lines('  ')],
  ['with a space after each comma and colon, as json.dumps in Python writes it', oneLine(', ', ': ')],
  ['indented by 4 spaces', lines('    ')],
  ['indented by tabs', lines('\t')],
  ['indented by 2 spaces, with CRLF', lines('  ', '\r\n')],
  ['indented by 4 spaces, with CRLF', lines('    ', '\r\n')],
  ['with a space after each colon', oneLine(',', ': ')],
];

const raw: Write = ({ source }) => source;
const plain: Write = ({ value }) => JSON.stringify(value);
const float: Write = ({ value }) => (Number.isInteger(value) ? `${String(value)}.0` : String(value));
const inAmounts =
  (way: Write): Write =>
  (token, key) =>
    (AMOUNTS.has(key) ? way : raw)(token, key);

const NUMBERS: Ways<Write> = [
  ['', raw],
  ['with numbers as JavaScript writes them (6.5 for 6.50)', plain],
  ['with two decimals in amounts (6.50 for 6.5)', inAmounts(({ value }) => Number(value).toFixed(2))],
  [
    'with floats as Python writes them (42.0 for 42.00)',
    (token, key) => (/[.eE]/.test(token.source) ? float : raw)(token, key),
  ],
  ['with amounts as floats (42.0 for 42)', inAmounts(float)],
  ['with every number as a float (2.0 for 2)', float],
];

/** Without the u flag, a character beyond the BMP becomes two escapes. */
function escaped(json: string, which: RegExp): string {
  return json.replaceAll(which, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
const ascii: Write = (token, key) => escaped(plain(token, key), /[\u007f-\uffff]/g);
const withSlashes = (json: string): string => json.replaceAll('/', '\\/');

const STRINGS: Ways<Write> = [
  ['', raw],
  ['with unescaped characters', plain],
  ['with non-ASCII characters escaped, as in Python', ascii],
  ['with / escaped', (token, key) => withSlashes(plain(token, key))],
  ['with / and non-ASCII characters escaped, as in PHP', (token, key) => withSlashes(ascii(token, key))],
  ['with <, > and & escaped, as in Go', (token, key) => escaped(plain(token, key), /[<>&\u2028\u2029]/g)],
  ['with quotes and non-ASCII characters escaped, as in .NET', dotNet],
];

function dotNet(token: Token, key: string): string {
  const inner = plain(token, key).slice(1, -1).replaceAll('\\"', '\\u0022');
  const digits = (unit: string): string => unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return `"${inner.replaceAll(/[<>&'+`\u007f-\uffff]/g, (unit) => `\\u${digits(unit)}`)}"`;
}

const FIXTURE_ORDER =
  'object id type created data status product_id merchant_id user_id last_activity total_value item_count ' +
  'previous_quantity current_quantity location_id total currency items quantity price estimated_ready_time ' +
  'fulfillment_method special_instructions';
const ranks = new Map(FIXTURE_ORDER.split(' ').map((name, rank) => [name, rank]));
const rankOf = (name: string): number => ranks.get(name) ?? ranks.size;

const ORDERS: Ways<((a: string, b: string) => number) | null> = [
  ['', null],
  ['with sorted keys', (a, b) => (a < b ? -1 : Number(a > b))],
  ['with keys in the order of the fixtures', (a, b) => rankOf(a) - rankOf(b)],
];
