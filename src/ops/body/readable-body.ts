import { jsonText, JsonTokens, unquoted, type JsonKind } from '../../events/json.ts';
import { printableJson } from '../../printable.ts';

/** Lines of a body that is not JSON are indented, so that none looks like a line of hookbox. */
export function readableBody(body: Uint8Array): readonly string[] {
  const json = jsonText(body);
  if (json !== null) return printableJson(prettyJson(json)).split('\n');
  const lines = Buffer.from(body).toString().split('\n');
  return lines.map((line) => `  ${line}`);
}

/** Deeper values stay on one line: an indented megabyte of brackets would fill terabytes. */
const DEEPEST = 40;

/**
 * Only white space changes; numbers, escapes and repeated names stay.
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

export interface JsonNode {
  /** `null` in a list, and for the outermost value */
  readonly name: string | null;
  /** whether the name is repeated: readers may take either value */
  readonly again: boolean;
  readonly kind: 'object' | 'list' | 'text' | 'number' | 'word';
  /** an unquoted text, an unchanged number, or `true`, `false` or `null` */
  readonly value: string;
  readonly children: readonly JsonNode[];
  /** the number of children, including omitted ones; a lower bound if `cut` */
  readonly size: number;
  /** whether reading stopped within it */
  readonly cut: boolean;
}

interface JsonTree {
  readonly root: JsonNode;
  readonly leftOut: boolean;
}

interface TreeLimits {
  /** of the tree; as many deeper values are skipped */
  readonly values?: number;
  readonly depth?: number;
}

interface Growing extends JsonNode {
  readonly children: Growing[];
  size: number;
  cut: boolean;
  readonly names: Set<string>;
}

/**
 * The limits bound the work, because deliveries wait for it.
 *
 * @param text - valid JSON
 */
export function jsonTree(text: string, { values = 2_000, depth = 32 }: TreeLimits = {}): JsonTree {
  const top: Growing = newNode('list', '', null, false);
  const open: Growing[] = [top];
  let kept = 0;
  let skipped = 0;
  let stopped = false;
  let beyond = 0;
  let name: string | null = null;

  for (const tokens = new JsonTokens(text); tokens.next();) {
    const parent = open.at(-1) ?? top;
    const { kind } = tokens;
    if (kind === '}' || kind === ']') {
      if (beyond > 0) beyond -= 1;
      else open.pop();
      continue;
    }
    if (kind === 'name') {
      if (beyond === 0) name = unquoted(tokens.written());
      continue;
    }
    const opens = kind === '{' || kind === '[';
    if (beyond === 0) parent.size += 1;
    if (kept >= values || skipped >= values) {
      stopped = true;
      break;
    }
    if (beyond > 0 || open.length > depth) {
      skipped += 1;
      name = null;
      if (opens) beyond += 1;
      continue;
    }
    const again = name !== null && parent.names.has(name);
    if (name !== null) parent.names.add(name);
    const node = newNode(kindOf(kind), opens ? '' : valueOf(tokens), name, again);
    parent.children.push(node);
    kept += 1;
    name = null;
    if (opens) open.push(node);
  }
  for (const node of open) node.cut = stopped;
  return { root: top.children[0] ?? newNode('word', '', null, false), leftOut: stopped || skipped > 0 };
}

function newNode(kind: JsonNode['kind'], value: string, name: string | null, again: boolean): Growing {
  return { name, again, kind, value, children: [], size: 0, cut: false, names: new Set() };
}

function kindOf(kind: Exclude<JsonKind, '}' | ']' | 'name'>): JsonNode['kind'] {
  if (kind === '{') return 'object';
  return kind === '[' ? 'list' : kind;
}

function valueOf(tokens: JsonTokens): string {
  const written = tokens.written();
  return tokens.kind === 'text' ? unquoted(written) : written;
}
