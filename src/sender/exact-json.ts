/** A number that is written again exactly as it was read. */
interface RawJson {
  readonly rawJSON: string;
}

// In every Node that hookbox runs on; TypeScript does not know them yet.
const json = JSON as typeof JSON & { rawJSON(text: string): RawJson; isRawJSON(value: unknown): value is RawJson };

/** The fields that hold an amount of money (interface 6.2). */
const AMOUNTS = new Set(['price', 'total', 'total_value']);

/**
 * Parses JSON so that `JSON.stringify` writes its numbers as they were: `6.50` stays `6.50`. Receivers that parse and
 * write a body before they verify it are found by that.
 *
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  return json.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && source !== String(value) ? json.rawJSON(source) : value;
  });
}

/** The JSON of an event with two decimals in its amounts, which whoever parses it and writes it again would lose. */
export function writtenWithDecimals(event: object): string {
  return JSON.stringify(event, (key, value: unknown) => {
    if (!AMOUNTS.has(key) || typeof value !== 'number') return value;
    const text = value.toFixed(2);
    return Number(text) === value ? json.rawJSON(text) : value;
  });
}

/** Tells objects and lists from numbers that are only kept in an object. */
export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !json.isRawJSON(value);
}
