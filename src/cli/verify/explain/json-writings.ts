import { AMOUNTS } from '../../../sender/event-json.ts';

/** The same JSON in other bytes. */
export interface Writing {
  readonly text: string;
  /** in what it differs from the text it was made of */
  readonly how: string;
}

/** How many writings are worth the time: bodies of a usual size get them all. */
export type Thoroughness = 'every' | 'usual';

/**
 * The ways in which programs write the same JSON, without the one it is written in; none for a text that is no JSON object
 * or list, or is nested too deep.
 */
export function* jsonWritings(text: string, thoroughness: Thoroughness): Generator<Writing> {
  const value = readJson(text);
  if (value === null || value instanceof Token || isDeep(value)) return;
  const every = thoroughness === 'every';
  const seen = new Set([text]);
  const own = LAYOUTS.find(({ layout }) => write(value, { layout, number: raw, string: raw }) === text.trim());
  for (const { how: ordering, order } of every ? ORDERS : ORDERS.slice(0, 1)) {
    const ordered = order === null ? value : reorder(value, order);
    for (const { how: escaping, string } of every ? STRINGS : STRINGS.slice(0, 3)) {
      for (const { how: numbers, number } of every ? NUMBERS : NUMBERS.slice(0, 3)) {
        for (const { how: spacing, layout } of every ? LAYOUTS : LAYOUTS.slice(0, 4)) {
          const written = write(ordered, { layout, number, string });
          if (seen.has(written)) continue;
          seen.add(written);
          const differences = [layout === own?.layout ? '' : spacing, numbers, escaping, ordering];
          yield { text: written, how: differences.filter((one) => one !== '').join(', ') };
        }
      }
    }
  }
}

/** A number, text, boolean or null as it was written. */
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
  const keepSource = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'object' && value !== null ? value : new Token(context?.source ?? JSON.stringify(value), value);
  try {
    return JSON.parse(text, keepSource) as Node;
  } catch {
    return null; // no JSON, or deeper than the stack
  }
}

const MOST_LEVELS = 64;

function isDeep(node: Node, levels = 0): boolean {
  if (node instanceof Token) return false;
  return levels === MOST_LEVELS || Object.values(node).some((inner: Node) => isDeep(inner, levels + 1));
}

interface Layout {
  readonly comma: string;
  readonly colon: string;
  /** what a level is indented by; `null` for one line */
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

const oneLine = (comma: string, colon: string): Layout => ({ comma, colon, indent: null, newline: '' });
const lines = (indent: string, newline = '\n'): Layout => ({ comma: ',', colon: ': ', indent, newline });

const LAYOUTS: readonly { readonly how: string; readonly layout: Layout }[] = [
  { how: 'without spaces, as JSON.stringify writes it', layout: oneLine(',', ':') },
  { how: 'indented by 2 spaces', layout: lines('  ') },
  { how: 'with a space after each comma and colon, as json.dumps in Python writes it', layout: oneLine(', ', ': ') },
  { how: 'indented by 4 spaces', layout: lines('    ') },
  { how: 'indented by tabs', layout: lines('\t') },
  { how: 'indented by 2 spaces, with CRLF', layout: lines('  ', '\r\n') },
  { how: 'indented by 4 spaces, with CRLF', layout: lines('    ', '\r\n') },
  { how: 'with a space after each colon', layout: oneLine(',', ': ') },
];

const raw: Write = ({ source }) => source;
const javascript: Write = ({ value }) => JSON.stringify(value);
const asFloat: Write = ({ value }) => (Number.isInteger(value) ? `${String(value)}.0` : String(value));

const NUMBERS: readonly { readonly how: string; readonly number: Write }[] = [
  { how: '', number: raw },
  { how: 'with numbers as JavaScript writes them (6.5 for 6.50)', number: javascript },
  {
    how: 'with two decimals in amounts (6.50 for 6.5)',
    number: (token, key) => (AMOUNTS.has(key) ? Number(token.value).toFixed(2) : token.source),
  },
  {
    how: 'with floats as Python writes them (42.0 for 42.00)',
    number: (token, key) => (/[.eE]/.test(token.source) ? asFloat(token, key) : token.source),
  },
  {
    how: 'with amounts as floats (42.0 for 42)',
    number: (token, key) => (AMOUNTS.has(key) ? asFloat(token, key) : token.source),
  },
  { how: 'with every number as a float (2.0 for 2)', number: asFloat },
];

const plain: Write = ({ value }) => JSON.stringify(value);
const escaped =
  (which: RegExp, digits: (hex: string) => string): Write =>
  ({ value }) =>
    JSON.stringify(value).replaceAll(which, (unit) => `\\u${digits(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`);
const lower = (hex: string): string => hex;
const upper = (hex: string): string => hex.toUpperCase();
// No u flag: a character beyond the BMP is written as two escapes.
const ascii = escaped(/[\u007f-\uffff]/g, lower);

const STRINGS: readonly { readonly how: string; readonly string: Write }[] = [
  { how: '', string: raw },
  { how: 'with unescaped characters', string: plain },
  { how: 'with non-ASCII characters escaped, as in Python', string: ascii },
  { how: 'with / escaped', string: (token, key) => plain(token, key).replaceAll('/', '\\/') },
  {
    how: 'with / and non-ASCII characters escaped, as in PHP',
    string: (token, key) => ascii(token, key).replaceAll('/', '\\/'),
  },
  { how: 'with <, > and & escaped, as in Go', string: escaped(/[<>&\u2028\u2029]/g, lower) },
  { how: 'with quotes and non-ASCII characters escaped, as in .NET', string: dotNet },
];

function dotNet(token: Token, key: string): string {
  const inner = plain(token, key).slice(1, -1).replaceAll('\\"', '\\u0022');
  const safe = inner.replaceAll(
    /[<>&'+`\u007f-\uffff]/g,
    (unit) => `\\u${upper(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`,
  );
  return `"${safe}"`;
}

/** As the bodies in fixtures/ have them. */
const FIXTURE_ORDER =
  'object id type created data status product_id merchant_id user_id last_activity total_value item_count ' +
  'previous_quantity current_quantity location_id total currency items quantity price estimated_ready_time ' +
  'fulfillment_method special_instructions';
const ranks = new Map(FIXTURE_ORDER.split(' ').map((name, rank) => [name, rank]));
const rankOf = (name: string): number => ranks.get(name) ?? ranks.size;

const ORDERS: readonly { readonly how: string; readonly order: ((a: string, b: string) => number) | null }[] = [
  { how: '', order: null },
  { how: 'with sorted keys', order: (a, b) => (a < b ? -1 : Number(a > b)) },
  { how: 'with keys in the order of the fixtures', order: (a, b) => rankOf(a) - rankOf(b) },
];
