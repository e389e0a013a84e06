import { utf8Text } from '../events/json.ts';

interface RawJson {
  readonly rawJSON: string;
}

// Every Node that hookbox supports has these; TypeScript does not know them yet.
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
 * Writes an event with its numbers as `parseExactly` read them. The text always differs from that of `JSON.stringify`, so
 * every event exposes a receiver that parses and rewrites a body before it verifies it.
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

/** `false` for a number that `parseExactly` keeps in an object. */
export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !json.isRawJSON(value);
}

const TEXT_OR_NAME = /"(?:[^"\\]|\\.)*"(:?)/g;

/** Adds a space after each colon if `JSON.stringify` would write the same text. */
function unlikeRewritten(text: string): string {
  if (JSON.stringify(JSON.parse(text)) !== text) return text;
  return text.replaceAll(TEXT_OR_NAME, (token, colon: string) => (colon === '' ? token : `${token} `));
}

/** The id and the type that an event's body names. */
export interface EventLabel {
  readonly id: string | null;
  readonly type: string | null;
}

/** Reads them from any body, JSON or not. */
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
