import { utf8Text } from '../events/json.ts';

/** A number that is written again exactly as it was read. */
interface RawJson {
  readonly rawJSON: string;
}

// In every Node that hookbox runs on; TypeScript does not know them yet.
const json = JSON as typeof JSON & { rawJSON(text: string): RawJson; isRawJSON(value: unknown): value is RawJson };

/** The fields that hold an amount of money (interface 6.2). */
export const AMOUNTS: ReadonlySet<string> = new Set(['price', 'total', 'total_value']);

/**
 * Parses JSON so that `writtenExactly` writes its numbers as they were: `6.50` stays `6.50`.
 *
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  return json.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && source !== String(value) ? json.rawJSON(source) : value;
  });
}

/**
 * The JSON of an event with numbers as `parseExactly` has read them, and never what `JSON.stringify` would make of it:
 * receivers that parse a body and write it again before they verify it are found out by every event.
 */
export function writtenExactly(event: object): string {
  return unlikeRewritten(JSON.stringify(event));
}

/** As `writtenExactly`, with two decimals in amounts. */
export function writtenWithDecimals(event: object): string {
  const text = JSON.stringify(event, (key, value: unknown) => {
    if (!AMOUNTS.has(key) || typeof value !== 'number') return value;
    const decimals = value.toFixed(2);
    return Number(decimals) === value ? json.rawJSON(decimals) : value;
  });
  return unlikeRewritten(text);
}

/** Tells objects and lists from numbers that are only kept in an object. */
export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !json.isRawJSON(value);
}

const TEXT_OR_NAME = /"(?:[^"\\]|\\.)*"(:?)/g;

/** With a space behind each colon where nothing else would be lost by parsing compact JSON and writing it again. */
function unlikeRewritten(text: string): string {
  if (JSON.stringify(JSON.parse(text)) !== text) return text;
  return text.replaceAll(TEXT_OR_NAME, (token, colon: string) => (colon === '' ? token : `${token} `));
}

/** What an event calls itself; `null` where its body does not say. */
export interface EventLabel {
  readonly id: string | null;
  readonly type: string | null;
}

/** The id and the type in any body, whatever it is. */
export function labelOf(body: Uint8Array): EventLabel {
  let event: unknown;
  try {
    event = JSON.parse(utf8Text(body) ?? '');
  } catch {
    return { id: null, type: null };
  }
  const { id, type } = (event ?? {}) as { readonly id?: unknown; readonly type?: unknown };
  return { id: typeof id === 'string' ? id : null, type: typeof type === 'string' ? type : null };
}
