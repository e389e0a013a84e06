import { utf8Text } from '../events/json.ts';

interface RawJson {
  readonly rawJSON: string;
}

// TypeScript does not declare these yet.
const json = JSON as typeof JSON & { rawJSON(text: string): RawJson; isRawJSON(value: unknown): value is RawJson };

/** Amounts of money (interface 6.2). */
export const AMOUNTS: ReadonlySet<string> = new Set(['price', 'total', 'total_value']);

/** Keeps the notation of numbers: `6.50` stays `6.50`. */
export function parseExactly(text: string): unknown {
  return parseWithSource(text, (value, source) =>
    typeof value === 'number' && source !== String(value) ? json.rawJSON(source) : value,
  );
}

/** @param keep - a placeholder for a text, number or word of this source */
export function parseWithSource(text: string, keep: (value: unknown, source: string) => unknown): unknown {
  return json.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'object' && value !== null ? value : keep(value, context?.source ?? JSON.stringify(value)),
  );
}

/** The text differs from that of `JSON.stringify`, so it exposes a receiver that rewrites a body before it verifies it. */
export function writtenExactly(event: object): string {
  return unlikeRewritten(JSON.stringify(event));
}

export function writtenWithDecimals(event: object): string {
  const text = JSON.stringify(event, (key, value: unknown) => {
    if (!AMOUNTS.has(key) || typeof value !== 'number') return value;
    const decimals = value.toFixed(2);
    return Number(decimals) === value ? json.rawJSON(decimals) : value;
  });
  return unlikeRewritten(text);
}

export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !json.isRawJSON(value);
}

const TEXT_OR_NAME = /"(?:[^"\\]|\\.)*"(:?)/g;

function unlikeRewritten(text: string): string {
  if (JSON.stringify(JSON.parse(text)) !== text) return text;
  return text.replaceAll(TEXT_OR_NAME, (token, colon: string) => (colon === '' ? token : `${token} `));
}

export interface EventLabel {
  readonly id: string | null;
  readonly type: string | null;
}

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
