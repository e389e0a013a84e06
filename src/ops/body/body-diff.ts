import { jsonText } from '../../events/json.ts';
import { isSameNumber } from '../../inbox/operator/finding/bodies.ts';
import { number, plural } from '../words/format.ts';
import { MASKED } from './mask.ts';
import { jsonTree, type JsonNode } from './readable-body.ts';

interface BodyChange {
  readonly path: string;
  /** `null` if absent */
  readonly was: string | null;
  readonly is: string | null;
}

export type BodyDiff =
  | { readonly kind: 'changes'; readonly changes: readonly BodyChange[]; readonly more: boolean }
  /** only the text differs, such as white space or order, from this byte on */
  | { readonly kind: 'same meaning'; readonly at: number }
  /** no difference in the values that were compared */
  | { readonly kind: 'too large'; readonly at: number }
  | { readonly kind: 'no JSON'; readonly at: number };

const MOST_CHANGES = 100;
const VALUE_CHARACTERS = 200;

interface Shown {
  readonly node: JsonNode;
  readonly masked: JsonNode;
}

/** Compares two bodies. For a masked value, it reports only a difference. */
export function bodyDiff(one: Uint8Array, other: Uint8Array, mask: (body: Uint8Array) => Uint8Array): BodyDiff {
  const at = firstDifference(one, other);
  const was = shownOf(one, mask);
  const is = shownOf(other, mask);
  if (was === null || is === null) return { kind: 'no JSON', at };
  const changes: BodyChange[] = [];
  compare('', was.shown, is.shown, changes);
  if (changes.length > 0) {
    return { kind: 'changes', changes: changes.slice(0, MOST_CHANGES), more: changes.length > MOST_CHANGES };
  }
  return { kind: was.leftOut || is.leftOut ? 'too large' : 'same meaning', at };
}

function shownOf(
  body: Uint8Array,
  mask: (body: Uint8Array) => Uint8Array,
): { readonly shown: Shown; readonly leftOut: boolean } | null {
  const text = jsonText(body);
  const masked = jsonText(mask(body));
  if (text === null || masked === null) return null;
  const { root, leftOut } = jsonTree(text);
  return { shown: { node: root, masked: jsonTree(masked).root }, leftOut };
}

function firstDifference(one: Uint8Array, other: Uint8Array): number {
  const most = Math.min(one.byteLength, other.byteLength);
  for (let at = 0; at < most; at += 1) if (one[at] !== other[at]) return at;
  return most;
}

function compare(path: string, was: Shown, is: Shown, changes: BodyChange[]): void {
  if (changes.length > MOST_CHANGES) return;
  if (isSame(was.node, is.node)) return;
  if (isHidden(was) || isHidden(is) || !isBranch(was.node) || was.node.kind !== is.node.kind) {
    changes.push({ path: path === '' ? '(all of it)' : path, was: brief(was.masked), is: brief(is.masked) });
    return;
  }
  const after = childrenOf(is);
  for (const [name, child] of childrenOf(was)) {
    const there = after.get(name);
    after.delete(name);
    const where = within(path, was.node, name);
    if (there !== undefined) compare(where, child, there, changes);
    else if (!is.node.cut) changes.push({ path: where, was: brief(child.masked), is: null });
  }
  if (was.node.cut) return;
  for (const [name, child] of after)
    changes.push({ path: within(path, is.node, name), was: null, is: brief(child.masked) });
}

/** Repeated names get a number. */
function childrenOf({ node, masked }: Shown): Map<string, Shown> {
  const seen = new Map<string, number>();
  const children = new Map<string, Shown>();
  for (const [place, child] of node.children.entries()) {
    const shown = { node: child, masked: masked.children[place] ?? child };
    const times = seen.get(child.name ?? '') ?? 0;
    seen.set(child.name ?? '', times + 1);
    const name = child.name ?? String(place);
    children.set(node.kind === 'list' || times === 0 ? name : `${name} (again ${times})`, shown);
  }
  return children;
}

function within(path: string, { kind }: JsonNode, name: string): string {
  if (kind === 'list') return `${path}[${name}]`;
  return path === '' ? name : `${path}.${name}`;
}

function isBranch({ kind }: JsonNode): boolean {
  return kind === 'object' || kind === 'list';
}

function isHidden({ node, masked }: Shown): boolean {
  return masked.kind === 'text' && masked.value === MASKED && (node.kind !== 'text' || node.value !== MASKED);
}

function isSame(one: JsonNode, other: JsonNode): boolean {
  if (one.kind !== other.kind) return false;
  if (one.kind === 'number') return one.value === other.value || isSameNumber(one.value, other.value);
  if (!isBranch(one)) return one.value === other.value;
  if (one.size !== other.size || one.children.length !== other.children.length) return false;
  const whole = (node: JsonNode): Shown => ({ node, masked: node });
  const there = childrenOf(whole(other));
  for (const [name, child] of childrenOf(whole(one))) {
    const same = there.get(name);
    if (same === undefined || !isSame(child.node, same.node)) return false;
  }
  return true;
}

function brief(node: JsonNode): string {
  const text = written(node, VALUE_CHARACTERS);
  return text.length > VALUE_CHARACTERS ? `${text.slice(0, VALUE_CHARACTERS)}…` : text;
}

function written(node: JsonNode, room: number): string {
  if (node.kind === 'text') return JSON.stringify(node.value.slice(0, VALUE_CHARACTERS + 1));
  if (!isBranch(node)) return node.value;
  let text = '';
  for (const child of node.children) {
    if (text.length > room) break;
    const name = child.name === null ? '' : `${JSON.stringify(child.name.slice(0, VALUE_CHARACTERS))}:`;
    text += `${text === '' ? '' : ','}${name}${written(child, room - text.length)}`;
  }
  if (node.children.length < node.size) text += ',…';
  return node.kind === 'object' ? `{${text}}` : `[${text}]`;
}

export function differenceInWords(diff: BodyDiff): string {
  switch (diff.kind) {
    case 'changes':
      return diff.more
        ? `The bodies differ in more than ${plural(diff.changes.length, 'place')}. The first ones are:`
        : `The bodies differ in ${plural(diff.changes.length, 'place')}:`;
    case 'same meaning':
      return `The two bodies have the same values. From byte ${number(diff.at)} on, their text differs.`;
    case 'too large':
      return (
        `The bodies differ from byte ${number(diff.at)} on. They are too large for hookbox to compare every ` +
        'value; the values that it compared are equal.'
      );
    case 'no JSON':
      return (
        `The bodies differ from byte ${number(diff.at)} on. At least one of them is not JSON, so hookbox ` +
        'cannot compare the values.'
      );
  }
}
